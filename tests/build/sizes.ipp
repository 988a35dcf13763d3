// BI-04: the size and alignment of public structs, and where members lie. All builds of a type agree
// on them: by g++, by nvcc, with DHISPARSE_CHECKS and without. One line for each type that host and
// device, or a program and the library, exchange:
//     SIZE(dhisparse::model_shape)
//     OFFSET(dhisparse::model_shape, layers)

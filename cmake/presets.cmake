# Every src/presets/<name>.json becomes a preset: presets.inc has its text, dhisparse/preset/models.hpp
# a function named after it.
file(GLOB presets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/presets/*.json) # sorted
set(gen ${PROJECT_BINARY_DIR}/gen)
set(entries "")
set(functions "")
foreach(file IN LISTS presets)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  cmake_path(GET file STEM LAST_ONLY name)
  string(MAKE_C_IDENTIFIER ${name} function)
  file(READ ${file} text)
  string(APPEND entries "{\"${name}\", R\"json(${text})json\"},\n")
  string(APPEND functions "inline model_shape ${function}() { return named(\"${name}\"); }\n")
endforeach()
file(CONFIGURE OUTPUT ${gen}/src/presets.inc CONTENT "@entries@" @ONLY)
file(CONFIGURE OUTPUT ${gen}/include/dhisparse/preset/models.hpp @ONLY CONTENT
"/// Generated from src/presets: one function a model.
#pragma once

#include <dhisparse/layout/presets.hpp>

namespace dhisparse::preset {

@functions@
} // namespace dhisparse::preset
")
target_include_directories(dhisparse_runtime PUBLIC $<BUILD_INTERFACE:${gen}/include> PRIVATE ${gen}/src)

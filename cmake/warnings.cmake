# Warnings for this project's own targets; its users keep theirs. Errors only where CI asks for it.
function(dhisparse_warnings target)
  if(NOT PROJECT_IS_TOP_LEVEL AND NOT DHISPARSE_WERROR)
    return()
  endif()
  set(cxx -Wall -Wextra -Wconversion -Wshadow)
  set(cuda -Xcompiler=-Wall,-Wextra,-Wshadow) # -Wconversion would also judge nvcc's own output
  if(DHISPARSE_WERROR)
    list(APPEND cxx -Werror)
    list(APPEND cuda -Werror=all-warnings)
  endif()
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${cxx}>" "$<$<COMPILE_LANGUAGE:CUDA>:${cuda}>")
endfunction()

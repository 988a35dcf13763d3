# cmake -D COMPILER=... -D FLAGS=LIST -D SOURCE=FILE -P check.cmake
# A source here holds right use, and wrong use under #ifdef WRONG. The first compiles, the second does
# not, and the compiler's message matches the regular expression after "// expect: ".
file(STRINGS ${SOURCE} expect REGEX "^// expect: ")
string(REGEX REPLACE "^// expect: " "" expect "${expect}")
if(NOT expect)
  message(FATAL_ERROR "${SOURCE} has no line '// expect: <regular expression>'")
endif()
set(command ${COMPILER} ${FLAGS} -fsyntax-only ${SOURCE})
execute_process(COMMAND ${command} RESULT_VARIABLE result ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "The right use does not compile:\n${output}")
endif()
execute_process(COMMAND ${command} -DWRONG RESULT_VARIABLE result ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "${expect}")
  message(FATAL_ERROR "The wrong use: result ${result}, expected '${expect}', got:\n${output}")
endif()

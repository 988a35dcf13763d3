# cmake -D SOURCE=DIR -D BINARY=DIR -D OPTIONS=LIST -D EXPECT=REGEX [-D REFUSED=ON] -P configure.cmake
# Configures a project in an empty folder: it works (or is refused), and says what is expected.
file(REMOVE_RECURSE ${BINARY})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BINARY} ${OPTIONS}
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
set(right TRUE)
if((result EQUAL 0 AND REFUSED) OR NOT (result EQUAL 0 OR REFUSED))
  set(right FALSE)
endif()
if(NOT right OR NOT output MATCHES "${EXPECT}")
  message(FATAL_ERROR "result ${result}, expected text '${EXPECT}', got:\n${output}")
endif()

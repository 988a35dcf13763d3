# cmake -D A=PROGRAM -D B=PROGRAM -P same_output.cmake: both run, and print the same.
foreach(side IN ITEMS A B)
  execute_process(COMMAND ${${side}} OUTPUT_VARIABLE out_${side} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT out_A STREQUAL out_B)
  message(FATAL_ERROR "The layouts differ.\n${A}:\n${out_A}\n${B}:\n${out_B}")
endif()

# Takes the package in as users do: installed, as a subdirectory, through FetchContent; without CUDA
# and, where it is built, with it.
set(prefix ${CMAKE_CURRENT_BINARY_DIR}/prefix)
add_test(NAME consume.install COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR}
                                      --prefix ${prefix} --config $<CONFIG>)
set_tests_properties(consume.install PROPERTIES FIXTURES_SETUP prefix RESOURCE_LOCK build_folder)

# The consumer uses the compilers and flags of this build (sanitizers must match at link time).
set(options -D SOURCE=${PROJECT_SOURCE_DIR} -D "CMAKE_PREFIX_PATH=${prefix}"
    -D CMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} -D CMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
    -D "CMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}" -D "fmt_DIR=${fmt_DIR}" -D EXPECTED_VERSION=${PROJECT_VERSION})

# consume NAME OPTIONS...: builds the consumer and runs it.
function(consume name way)
  add_test(NAME ${name} COMMAND ${CMAKE_CTEST_COMMAND}
    --build-and-test ${CMAKE_CURRENT_SOURCE_DIR}/consume ${CMAKE_CURRENT_BINARY_DIR}/${name}
    --build-generator ${CMAKE_GENERATOR} --build-target app
    --build-options ${options} -D WAY=${way} ${ARGN} --test-command app)
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS consume)
  if(way STREQUAL "installed")
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED prefix)
  endif()
endfunction()

# configures NAME SOURCE EXPECTED_TEXT REFUSED OPTIONS...: only configures.
function(configures name source expected refused)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -D SOURCE=${source}
    -D BINARY=${CMAKE_CURRENT_BINARY_DIR}/${name} -D "EXPECT=${expected}" -D REFUSED=${refused}
    "-DOPTIONS=-G;${CMAKE_GENERATOR};${options};${ARGN}"
    -P ${CMAKE_CURRENT_SOURCE_DIR}/build/configure.cmake)
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS consume)
endfunction()

set(consumer ${CMAKE_CURRENT_SOURCE_DIR}/consume)
foreach(way IN ITEMS installed subdirectory fetchcontent)
  consume(consume.${way} ${way} -D CUDA=OFF -D DHISPARSE_CUDA=OFF)
endforeach()
consume(BI-08.shared_library subdirectory -D CUDA=OFF -D DHISPARSE_CUDA=OFF
        -D BUILD_SHARED_LIBS=ON)

configures(BI-10.versions ${consumer} "" OFF -D WAY=versions -D CUDA=OFF)
math(EXPR next_minor "${PROJECT_VERSION_MINOR} + 1")
configures(BI-08.wrong_version ${consumer} "dhisparseConfig.cmake, version: ${PROJECT_VERSION}" ON
           -D WAY=wrong_version -D CUDA=OFF -D WANTED=${PROJECT_VERSION_MAJOR}.${next_minor})
configures(BI-08.wrong_major ${consumer} "dhisparseConfig.cmake, version: ${PROJECT_VERSION}" ON
           -D WAY=wrong_version -D CUDA=OFF -D WANTED=9.0)
set_tests_properties(BI-10.versions BI-08.wrong_version BI-08.wrong_major
                     PROPERTIES FIXTURES_REQUIRED prefix)

if(NOT with_cuda)
  configures(consume.cuda_component_refused ${consumer} "dhisparse_FOUND to FALSE" ON
             -D WAY=installed -D CUDA=ON)
  set_tests_properties(consume.cuda_component_refused PROPERTIES FIXTURES_REQUIRED prefix)
  return()
endif()

set(cuda -D CMAKE_CUDA_COMPILER=${CMAKE_CUDA_COMPILER} -D DHISPARSE_CUDA=ON)
list(GET CMAKE_CUDA_ARCHITECTURES 0 architecture)
foreach(way IN ITEMS installed subdirectory)
  consume(consume.${way}_cuda ${way} ${cuda} -D CUDA=LANGUAGE
          -D CMAKE_CUDA_ARCHITECTURES=${architecture})
endforeach()
# As a subdirectory, which has compiled the kernels once more already.
configures(consume.fetchcontent_cuda ${consumer} "CUDA ON ${architecture}" OFF ${cuda} -D WAY=fetchcontent
           -D CUDA=LANGUAGE -D CMAKE_CUDA_ARCHITECTURES=${architecture})
# A C++ project links the compiled CUDA library without enabling the language.
consume(consume.installed_cuda_from_cpp installed -D CUDA=ON)

# BI-05: configures with each kind of choice, and with none. Without a GPU native falls back.
foreach(choice IN ITEMS "none;80;90" "90;90" "OFF;OFF" "native;(native|80;90)")
  list(POP_FRONT choice name)
  set(architectures -D CMAKE_CUDA_ARCHITECTURES=${name})
  if(name STREQUAL "none")
    set(architectures "")
  endif()
  configures(BI-05.${name} ${consumer} "CUDA ON ${choice}" OFF ${cuda} -D WAY=subdirectory
             -D CUDA=ON ${architectures})
endforeach()

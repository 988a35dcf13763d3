# Used by the build, and installed beside the package config for every consumer.

# CMake 3.25 has no C++20 row for nvcc. Cache entries reach every directory, so CUDA_STANDARD 20
# then works for the consumer's own targets too; newer CMake has its own entries and skips this.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20" CACHE INTERNAL "")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20" CACHE INTERNAL "")
endif()

# Finds the toolkit and the CCCL in it. A macro: find_package sets variables of the caller.
# - CMake 3.25's FindCUDAToolkit stops with an error on CUDA 13 (no nvToolsExt library) if the
#   project's minimum is 3.25 or more, so the minimum is lowered around the call.
# - CCCL sits in lib64/cmake, where Debian's and Ubuntu's CMake do not look. CCCL_DIR comes first.
macro(dhisparse_find_cuda)
  set(_dhisparse_minimum ${CMAKE_MINIMUM_REQUIRED_VERSION})
  set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
  find_package(CUDAToolkit QUIET)
  find_package(CCCL 3 CONFIG QUIET HINTS ${CUDAToolkit_LIBRARY_DIR}/cmake/cccl
               ${CUDAToolkit_LIBRARY_ROOT}/lib64/cmake/cccl
               ${CUDAToolkit_TARGET_DIR}/lib64/cmake/cccl)
  set(CMAKE_MINIMUM_REQUIRED_VERSION ${_dhisparse_minimum})
  set(dhisparse_cuda_FOUND FALSE)
  if(CUDAToolkit_FOUND AND CCCL_FOUND)
    set(dhisparse_cuda_FOUND TRUE)
  endif()
endmacro()

# What the users of the CUDA target get: C++20 in their .cu files, CCCL, a CUDA runtime.
# BUILD_INTERFACE keeps it all out of the exported file; the package config calls this again.
function(dhisparse_link_cuda target scope cudart)
  if("cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
    # A user's directory may not know the language, and then it knows no feature of it either.
    target_compile_features(${target} ${scope}
                            $<BUILD_INTERFACE:$<$<CUDA_COMPILER_ID:NVIDIA>:cuda_std_20>>)
  else()
    target_compile_options(${target} ${scope}
                           $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>>)
  endif()
  target_link_libraries(${target} ${scope} $<BUILD_INTERFACE:CCCL::CCCL>)
  if(cudart STREQUAL "static")
    target_link_libraries(${target} ${scope} $<BUILD_INTERFACE:CUDA::cudart_static>)
  elseif(cudart STREQUAL "shared")
    target_link_libraries(${target} ${scope} $<BUILD_INTERFACE:CUDA::cudart>)
  endif() # none: the user links a runtime
endfunction()

# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# nvcc and its options. The toolkit is the system's or that of scripts/cuda_toolkit, whose root goes into
# CUDAToolkit_ROOT. Its runtime is linked in; the driver is found when the plugin is used, so the plugin can be built and
# opened on machines without a GPU.

set(GRADSTEP_CUDA_ARCHITECTURES "80-real;90a-real;90-virtual" CACHE STRING
    "What the kernels are compiled for; the virtual one is for processors to come")
if(NOT CMAKE_CUDA_COMPILER AND CUDAToolkit_ROOT)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_ROOT}/bin/nvcc)
endif()
set(CMAKE_CUDA_ARCHITECTURES ${GRADSTEP_CUDA_ARCHITECTURES})
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.6)
  message(FATAL_ERROR "gradstep needs CUDA 12.6 or later, ${CMAKE_CUDA_COMPILER} is of ${CMAKE_CUDA_COMPILER_VERSION}")
endif()
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # of CMake 3.25, which does not know that this nvcc has it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()

# Arithmetic is that of the CPU: nothing is contracted, division and roots are rounded correctly, and numbers may be
# subnormal; said in full, for CUDAFLAGS come before. Functions that are constant expressions, such as those of formulas,
# may be called by kernels.
set(gradstep_cuda_options -fmad=false -ftz=false -prec-div=true -prec-sqrt=true --expt-relaxed-constexpr "SHELL:-Xcompiler -ffp-contract=off")
if(GRADSTEP_WARNINGS_AS_ERRORS)
  list(APPEND gradstep_cuda_options "SHELL:-Werror all-warnings" "SHELL:-Xcompiler -Wall,-Wextra,-Werror")
endif()

function(gradstep_compile_for_cuda target)
  set_target_properties(${target} PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_RUNTIME_LIBRARY Static
                        CUDA_VISIBILITY_PRESET hidden)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${gradstep_cuda_options}>")
  # fmt takes nvcc for a compiler without constant expressions.
  target_compile_definitions(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:FMT_USE_CONSTEXPR=1>)
endfunction()

# gradstep_refuse_spills(<source>...): a kernel whose numbers do not fit into registers is an error.
function(gradstep_refuse_spills)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS
                              "-Xptxas;--warn-on-spills,--warning-as-error")
endfunction()

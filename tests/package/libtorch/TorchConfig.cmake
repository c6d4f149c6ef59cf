# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# LibTorch of the wheel that Python has, without CUDA: the wheel's own configuration asks for CUDA's toolkit.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
execute_process(COMMAND ${Python3_EXECUTABLE} -c "import torch; print(torch.__path__[0])"
                OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
add_library(torch INTERFACE IMPORTED)
target_include_directories(torch INTERFACE ${folder}/include ${folder}/include/torch/csrc/api/include)
target_link_libraries(torch INTERFACE ${folder}/lib/libtorch_cpu.so ${folder}/lib/libc10.so)
set(TORCH_LIBRARIES torch)

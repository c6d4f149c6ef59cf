// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Threads that wait for each other, and what a kernel may not do.
#include "cuda/ptx/support.h"

namespace gradstep::ptx {
namespace {

/// Whatever the order of threads and blocks.
constexpr std::uint64_t kSeeds = 20;

void expect_failure(const std::string& body, const std::string& part, int threads = 1, std::int64_t blocks = 1) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string text = failure(body, threads, blocks, seed);
    EXPECT_NE(text.find(part), std::string::npos) << "seed " << seed << ": '" << text << "'";
  }
}

// %d1 is the address of the thread's own number; %r1 its index, %r2 the block's.
const std::string kOwn = R"(
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mad.lo.s32 %r4, %r2, %r3, %r1;
mul.wide.u32 %d1, %r4, 8;
add.s64 %d1, %d0, %d1;
)";

TEST(PtxMachine, EveryThreadOfEveryBlockRunsOnce) {
  const Memory memory =
      after(kOwn + "ld.global.u64 %d2, [%d1];\nadd.s64 %d2, %d2, 1;\nst.global.u64 [%d1], %d2;", Memory(320), 64, 5);
  EXPECT_EQ(memory, Memory(320, 1));
}

TEST(PtxMachine, ABarrierShowsWhatOthersHaveWritten) {
  // Each takes the number of its neighbour in what the block shares.
  const std::string before = kOwn + "mul.lo.s32 %r5, %r1, 4;\nst.shared.u32 [%r5], %r1;\n";
  const std::string behind = "xor.b32 %r6, %r5, 128;\nld.shared.u32 %r7, [%r6];\nst.global.u32 [%d1], %r7;";
  const std::string whole = before + "bar.sync 0;\n" + behind;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Memory memory = after(whole, Memory(64), 64, 1, seed);
    for (std::uint64_t k = 0; k < 64; ++k) EXPECT_EQ(memory[k], k ^ 32U);
  }
  expect_failure(before + behind, "shared memory that races with another thread's", 64);
}

TEST(PtxMachine, AWarpsExchangeOrdersReadsBeforeWritesAndNothingElse) {
  const std::string exchange =
      "mov.u32 %r8, 16;\nmov.u32 %r9, 31;\nmov.u32 %r10, -1;\n"
      "shfl.sync.bfly.b32 %r7|%p1, %r1, %r8, %r9, %r10;\n";
  const std::string read = "ld.global.u64 %d2, [%d0];\n";
  const std::string write = "setp.eq.s32 %p2, %r1, 0;\nmov.u64 %d3, 5;\n@%p2 st.global.u64 [%d0], %d3;\n";
  EXPECT_EQ(failure(kOwn + read + exchange + write, 32), "");
  expect_failure(kOwn + read + write, "races", 32);
  expect_failure(kOwn + write + exchange + read, "races", 32);
}

TEST(PtxMachine, ShufflesAndVotesAreThoseOfTheirWarp) {
  const Memory memory = after(kOwn + R"(
mov.u32 %r8, 1;
mov.u32 %r9, 31;
mov.u32 %r10, -1;
shfl.sync.bfly.b32 %r7|%p1, %r1, %r8, %r9, %r10;
mov.u32 %r8, 3;
shfl.sync.idx.b32 %r6|%p1, %r7, %r8, %r9, %r10;
setp.gt.u32 %p2, %r1, 33;
vote.sync.ballot.b32 %r5, %p2, %r10;
st.global.v2.u32 [%d1], {%r6, %r5};
)",
                              Memory(64), 64);
  for (std::uint64_t k = 0; k < 64; ++k) {
    EXPECT_EQ(memory[k] & 0xffffffffU, k < 32 ? 2U : 34U);
    EXPECT_EQ(memory[k] >> 32, k < 32 ? 0U : 0xfffffffcU);
  }
}

TEST(PtxMachine, WhoeverDoesNotComeToABarrierOrAnExchangeIsFound) {
  expect_failure(kOwn + "setp.eq.s32 %p1, %r1, 7;\n@%p1 bra $done;\nbar.sync 0;\n$done:\n",
                 "not all threads of a block come to its barrier", 64);
  const std::string vote = "vote.sync.ballot.b32 %r5, %p1, %r10;\n";
  const std::string but_of_one = kOwn + "mov.u32 %r10, -1;\nsetp.eq.s32 %p1, %r1, 7;\n@%p1 bra $other;\n" + vote;
  expect_failure(but_of_one + "$other:\n", "not all threads of a warp come to its exchange", 32);
  expect_failure(but_of_one + "bra $done;\n$other:\n" + vote + "$done:\n", "in different places", 32);
}

// The last block to come sums up what all have written, as is_last() of cuda/device/block.h has it.
std::string sum_of_blocks(const std::string& release, const std::string& acquire) {
  return kOwn + R"(
cvt.u64.u32 %d2, %r2;
add.s64 %d2, %d2, 1;
st.global.u64 [%d1+64], %d2;
bar.sync 0;
setp.ne.s32 %p1, %r1, 0;
mov.u32 %r5, 0;
@%p1 bra $told;
)" + release +
         "\natom.global.add.u32 %r5, [%d0], 1;\n" + acquire + R"(
$told:
st.shared.u32 [0], %r5;
bar.sync 0;
ld.shared.u32 %r5, [0];
mov.u32 %r6, %nctaid.x;
sub.s32 %r6, %r6, 1;
setp.ne.s32 %p1, %r5, %r6;
@%p1 bra $done;
setp.ne.s32 %p1, %r1, 0;
@%p1 bra $done;
mov.u64 %d3, 0;
mov.u32 %r7, 0;
add.s64 %d4, %d0, 64;
$loop:
ld.global.u64 %d5, [%d4];
add.s64 %d3, %d3, %d5;
add.s64 %d4, %d4, 8;
add.s32 %r7, %r7, 1;
setp.le.s32 %p1, %r7, %r6;
@%p1 bra $loop;
st.global.u64 [%d0+8], %d3;
$done:
)";
}

TEST(PtxMachine, BlocksSeeEachOthersWritesByFencesAroundAnAtomicOperation) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    EXPECT_EQ(after(sum_of_blocks("membar.gl;", "membar.gl;"), Memory(20), 1, 6, seed)[1], 21U);
  }
  expect_failure(sum_of_blocks("", "membar.gl;"), "global memory that races with another thread's", 1, 6);
  expect_failure(sum_of_blocks("membar.gl;", ""), "global memory that races with another thread's", 1, 6);
}

TEST(PtxMachine, ThreadsMayRaiseTheSameFlagButNotWriteDifferentNumbers) {
  EXPECT_EQ(failure("mov.u64 %d1, 1;\nst.global.u64 [%d0], %d1;", 64, 3), "");
  expect_failure(kOwn + "cvt.u64.u32 %d2, %r1;\nst.global.u64 [%d0], %d2;", "a write of global memory that races", 64);
}

TEST(PtxMachine, AccessesAreAlignedAndWhereTheyMayBe) {
  expect_failure("ld.global.u64 %d1, [%d0+4];", "a read of 8 bytes that is not aligned");
  expect_failure("ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d0+8];", "a read of 16 bytes that is not aligned");
  expect_failure("st.global.u64 [%d0+8192], %d1;", "a write beyond the device's memory");
  expect_failure("ld.global.u64 %d1, [%d0+-8];", "a read beyond the device's memory");
  expect_failure("ld.shared.u32 %r1, [1024];", "a read beyond what the block shares");
  expect_failure("mov.u64 %d1, array;\nld.param.u64 %d2, [%d1+8];", "a read beyond parameters");
  expect_failure(".local .align 16 .b8 depot[16];\nmov.u64 %d1, depot;\nst.local.u64 [%d1+16], %d0;",
                 "a write beyond local memory");
}

TEST(PtxMachine, AFailureNamesLineThreadAndBlock) {
  EXPECT_EQ(failure("\n\nst.global.u64 [%d0+8192], %d1;"),
            "a write beyond the device's memory (line 17 of its PTX, in kernel, by thread 0 of block 0)");
  EXPECT_EQ(failure("", 257), "kernel: launched with 257 threads, compiled for 256");
  EXPECT_EQ(failure("mov.u32 %r1, %clock;"), "text:15: '%clock' is not declared");
}

TEST(PtxMachine, AnInstructionThatIsLeftOutIsNotExecuted) {
  const Program program = parse(kernel_of(kOwn + "mul.lo.s32 %r5, %r1, 4;\nst.shared.u32 [%r5], %r1;\nbar.sync 0;\n"
                                                 "xor.b32 %r6, %r5, 4;\nld.shared.u32 %r7, [%r6];"),
                                "text");
  const std::uint64_t array = 0;
  Launch launch = launch_of(program, array, /*threads=*/64);
  run(launch);
  for (const Instruction& instruction : launch.kernel->instructions) {
    if (instruction.execute == find_instruction("bar.sync")) launch.left_out = &instruction;
  }
  ASSERT_NE(launch.left_out, nullptr);
  EXPECT_THROW(run(launch), Error);
}

/// What the only access of a kernel amounts to, by a warp whose lane k reads 4 bytes, `stride` k from the first.
Amount amount_of(int stride) {
  const Program program = parse(kernel_of(kOwn + "mul.wide.u32 %d2, %r1, " + std::to_string(stride) +
                                          ";\nadd.s64 %d2, %d0, %d2;\nld.global.u32 %r5, [%d2];"),
                                "text");
  alignas(32) std::uint64_t memory[kWarp * 4] = {};
  const std::uint64_t array = reinterpret_cast<std::uintptr_t>(memory);
  Amounts amounts;
  Launch launch = launch_of(program, array, kWarp);
  launch.amounts = &amounts;
  launch.is_device_memory = [](const void*, std::size_t) { return true; };
  run(launch);
  EXPECT_EQ(amounts.size(), 1U);
  return amounts.begin()->second;
}

TEST(PtxMachine, ARequestMovesTheSectorsThatItsLanesNeed) {
  const auto expect = [](int stride, std::int64_t sectors, std::int64_t bytes) {
    const Amount amount = amount_of(stride);
    EXPECT_EQ(amount.requests, 1) << stride;
    EXPECT_EQ(amount.sectors, sectors) << stride;
    EXPECT_EQ(amount.bytes, bytes) << stride;
  };
  expect(0, 1, 4);      // all read the same
  expect(4, 4, 128);    // neighbours
  expect(8, 8, 128);    // every second
  expect(32, 32, 128);  // one of each sector
}

}  // namespace
}  // namespace gradstep::ptx

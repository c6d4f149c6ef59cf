// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/rendezvous/launch.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/comm/rendezvous/variables.h"
#include "tests/unit/comm/worlds.h"

namespace gradstep::test {
namespace {

struct Format {
  const char* launcher;
  Variables variables;
  std::int32_t rank;
  std::int32_t world_size;
  bool one_machine;
  MeetingPoint point;
};

const Format kFormats[] = {
    {"torchrun, PyTorchJob",
     {{"RANK", "3"},
      {"WORLD_SIZE", "4"},
      {"LOCAL_RANK", "1"},
      {"LOCAL_WORLD_SIZE", "2"},
      {"MASTER_ADDR", "node0"},
      {"MASTER_PORT", "29500"},
      {"TORCHELASTIC_RUN_ID", "none"}},
     3,
     4,
     false,
     {"node0", 29501}},
    {"torchrun, PyTorchJob",
     {{"RANK", "1"},
      {"WORLD_SIZE", "3"},
      {"MASTER_ADDR", "job-master-0"},
      {"MASTER_PORT", "23456"},
      {"PET_NNODES", "3"},
      {"PET_NODE_RANK", "1"},
      {"PET_NPROC_PER_NODE", "1"},
      {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}},
     1,
     3,
     false,
     {"job-master-0", 23457}},
    {"Open MPI",
     {{"OMPI_COMM_WORLD_RANK", "1"},
      {"OMPI_COMM_WORLD_SIZE", "2"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
      {"MASTER_ADDR", "a"},
      {"MASTER_PORT", "5"},
      {"SLURM_PROCID", "0"},
      {"SLURM_STEP_NUM_TASKS", "1"}},
     1,
     2,
     true,
     {"a", 6}},
    {"MPICH and others by PMI",
     {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "1"}, {"MASTER_ADDR", "b"}, {"GRADSTEP_PORT", "77"}},
     0,
     2,
     false,
     {"b", 77}},
    {"Slurm",
     {{"SLURM_PROCID", "5"},
      {"SLURM_STEP_NUM_TASKS", "8"},
      {"SLURM_STEP_NUM_NODES", "2"},
      {"SLURM_STEP_NODELIST", "node[03-07,9],gpu1"},
      {"SLURM_JOB_ID", "123456"}},
     5,
     8,
     false,
     {"node03", 23456}},
    {"TrainJob",
     {{"PET_NODE_RANK", "1"}, {"PET_NNODES", "2"}, {"PET_MASTER_ADDR", "t-node-0-0.t"}, {"PET_MASTER_PORT", "29400"}},
     1,
     2,
     false,
     {"t-node-0-0.t", 29401}},
    {"JobSet",
     {{"JOB_COMPLETION_INDEX", "2"},
      {"WORLD_SIZE", "4"},
      {"MASTER_ADDR", "js-workers-0-0.js"},
      {"MASTER_PORT", "3389"}},
     2,
     4,
     false,
     {"js-workers-0-0.js", 3390}},
};

TEST(Launch, EveryLauncherIsReadByItsOwnVariables) {
  for (const Format& format : kFormats) {
    SCOPED_TRACE(format.launcher);
    const OwnEnvironment reader{format.variables};
    const Launch launch = read_launch(reader);
    EXPECT_STREQ(launch.launcher->name, format.launcher);
    EXPECT_EQ(launch.rank, format.rank);
    EXPECT_EQ(launch.world_size, format.world_size);
    EXPECT_EQ(launch.one_machine, format.one_machine);
    const MeetingPoint point = meeting_point(launch, reader);
    EXPECT_EQ(point.host, format.point.host);
    EXPECT_EQ(point.port, format.point.port);
  }
}

TEST(Launch, AWorldOfOneIsOnOneMachine) {
  const OwnEnvironment reader{{{"RANK", "0"}, {"WORLD_SIZE", "1"}}};
  EXPECT_TRUE(read_launch(reader).one_machine);
}

TEST(Launch, ErrorsNameWhatWasLookedForAndWhatWasFound) {
  const std::pair<Variables, const char*> kCases[] = {
      {{}, "the environment does not say it: expected one pair of RANK and WORLD_SIZE (torchrun, PyTorchJob), "},
      {{{"RANK", "0"}}, "RANK is set and WORLD_SIZE is not; expected"},
      {{{"OMPI_COMM_WORLD_SIZE", "2"}}, "OMPI_COMM_WORLD_SIZE is set and OMPI_COMM_WORLD_RANK is not"},
      {{{"RANK", "2"}, {"WORLD_SIZE", "2"}}, "RANK: is 2, expected 0 to WORLD_SIZE - 1 = 1"},
      {{{"RANK", "-1"}, {"WORLD_SIZE", "2"}}, "RANK: is '-1', expected a number >= 0"},
      {{{"RANK", "1x"}, {"WORLD_SIZE", "2"}}, "RANK: is '1x', expected a number >= 0"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "99999999999"}}, "WORLD_SIZE: is '99999999999', expected a number"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "4"}},
       "contradicts itself: LOCAL_WORLD_SIZE = 4, but WORLD_SIZE = 2"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}},
       "contradicts itself: RANK = 0 of WORLD_SIZE = 1, but OMPI_COMM_WORLD_RANK = 1 of OMPI_COMM_WORLD_SIZE = 4"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "16"}, {"PET_NPROC_PER_NODE", "8"}},
       "counts PET_NPROC_PER_NODE = 8 processes of each pod, but torchrun has not started them"},
  };
  for (const auto& [variables, says] : kCases) {
    const OwnEnvironment reader{variables};
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, says, [&] { read_launch(reader); });
  }
}

TEST(Launch, TorchrunInsideAnotherLauncherIsTheInnerOne) {
  const OwnEnvironment reader{{{"RANK", "0"},
                               {"WORLD_SIZE", "1"},
                               {"TORCHELASTIC_RUN_ID", "x"},
                               {"OMPI_COMM_WORLD_RANK", "1"},
                               {"OMPI_COMM_WORLD_SIZE", "4"}}};
  EXPECT_EQ(read_launch(reader).rank, 0);
}

TEST(Launch, ErrorsNameTheVariablesOfTheMeetingPoint) {
  const Variables torchrun = {{"RANK", "0"}, {"WORLD_SIZE", "2"}};
  const std::pair<Variables, const char*> kCases[] = {
      {{}, "MASTER_ADDR and MASTER_PORT not set: set MASTER_ADDR"},
      {{{"MASTER_ADDR", "a"}}, "no store is given, and MASTER_PORT not set"},
      {{{"MASTER_ADDR", "a"}, {"MASTER_PORT", "x"}}, "MASTER_PORT: is 'x', expected a number"},
      {{{"MASTER_ADDR", "a"}, {"MASTER_PORT", "65535"}}, "MASTER_PORT: is 65535, expected 1 to 65534"},
      {{{"MASTER_ADDR", "a"}, {"GRADSTEP_PORT", "0"}}, "GRADSTEP_PORT: is 0, expected 1"},
  };
  for (auto [variables, says] : kCases) {
    variables.insert(torchrun.begin(), torchrun.end());
    const OwnEnvironment reader{variables};
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, says, [&] { meeting_point(read_launch(reader), reader); });
  }
  const OwnEnvironment slurm{{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}}};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "SLURM_STEP_NODELIST and SLURM_JOB_ID not set",
               [&] { meeting_point(read_launch(slurm), slurm); });
}

TEST(Launch, FirstHostOfSlurmsShorthand) {
  EXPECT_EQ(first_host("a"), "a");
  EXPECT_EQ(first_host("a,b[1-2]"), "a");
  EXPECT_EQ(first_host("node[03-07,9],gpu1"), "node03");
  EXPECT_EQ(first_host("n[2,4]-x"), "n2-x");
  EXPECT_EQ(first_host("r[1-2]n[05-06]"), "r1n05");
  EXPECT_EQ(first_host("broken[1"), "broken[1");
}

TEST(Launch, AJobIsNamedAlikeOnAllItsMachinesAndUnlikeAnotherOne) {
  OwnEnvironment reader{kFormats[0].variables};
  const std::string job = job_text(read_launch(reader), reader);
  reader.variables["RANK"] = "0";
  EXPECT_EQ(job_text(read_launch(reader), reader), job) << "another rank of the job";
  reader.variables["TORCHELASTIC_RESTART_COUNT"] = "1";
  EXPECT_EQ(job_text(read_launch(reader), reader), job) << "each machine counts by itself";
  reader.variables["SLURM_STEP_ID"] = "2";
  EXPECT_EQ(job_text(read_launch(reader), reader), job) << "one srun for each machine";
  reader.variables["TORCHELASTIC_RUN_ID"] = "another";
  EXPECT_NE(job_text(read_launch(reader), reader), job);
}

TEST(Launch, SlurmsPmiIsSlurm) {
  const OwnEnvironment step{{{"PMI_RANK", "1"},
                             {"PMI_SIZE", "2"},
                             {"SLURM_PROCID", "1"},
                             {"SLURM_STEP_NUM_TASKS", "2"},
                             {"SLURM_STEP_NUM_NODES", "1"}}};
  const Launch launch = read_launch(step);
  EXPECT_STREQ(launch.launcher->name, "Slurm");
  EXPECT_TRUE(launch.one_machine);
  OwnEnvironment inside = step;
  inside.variables["PMI_SIZE"] = "4";
  EXPECT_STREQ(read_launch(inside).launcher->name, "MPICH and others by PMI");
}

}  // namespace
}  // namespace gradstep::test

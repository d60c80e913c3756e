#include "launch/core/config/log_settings.hpp"

#include "settling.hpp"

namespace launch::log_settings_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LogSettings, StreamsAreANumberOrAMapOfLocalRanks) {
  for (const char* option : {"--redirects=", "--tee="}) {
    for (const char* good : {"0", "3", "0:1", "0:3,1:0,12:2"})
      EXPECT_EQ(fault_of({std::string(option) + good}), "") << good;
    for (const char* bad : {"4", "-1", "x", "0:4", "0:1,", ":1", "0:", "a:1", "0;1", "01"})
      EXPECT_THAT(fault_of({std::string(option) + bad}), HasSubstr("expected 0, 1, 2 or 3")) << bad;
  }
}

TEST(LogSettings, TheFilterIsAListOfLocalRanks) {
  EXPECT_EQ(fault_of({"--local-ranks-filter=0, 2,7"}), "");
  for (const char* bad : {"a", "0,", "0;1", "0:1"})
    EXPECT_THAT(fault_of({std::string("--local-ranks-filter=") + bad}), HasSubstr("expected local ranks")) << bad;
}

std::string digits(const std::vector<LogChoice::Streams>& map) {
  std::string result;
  for (const auto& streams : map) result += static_cast<char>('0' + (streams.out ? 1 : 0) + (streams.err ? 2 : 0));
  return result;
}

TEST(LogSettings, StreamsAreKnownForEachLocalRank) {
  const auto of = [](const char* text) {
    return digits(config_of({"--nproc-per-node=3", std::string("--tee=") + text}).logs.tees);
  };
  EXPECT_EQ(of("0"), "000");
  EXPECT_EQ(of("2"), "222");
  EXPECT_EQ(of("1:3"), "030");
  EXPECT_EQ(of("0:1,2:2,7:3,99999999999:3"), "102");
  EXPECT_EQ(of("0:1,0:0"), "000");
  EXPECT_EQ(digits(config_of({"-r3"}).logs.redirects), "3");
}

TEST(LogSettings, FiltersAreSplitAtSingleCommas) {
  EXPECT_THAT(config_of({"--duplicate-stdout-filters=loss,a,,b"}).logs.out_filters, ElementsAre("loss", "a,b"));
  EXPECT_THAT(config_of({"--duplicate-stderr-filters="}).logs.err_filters, ElementsAre(""));
  EXPECT_THAT(config_of({}).logs.out_filters, IsEmpty());
}

TEST(LogSettings, ThePrefixAndTheShownRanks) {
  const Config config = config_of({"--log-line-prefix-template=${rank}: ", "--local-ranks-filter=0, 2"});
  EXPECT_EQ(config.logs.prefix, "${rank}: ");
  EXPECT_THAT(config.logs.shown, ElementsAre(0, 2));
  EXPECT_EQ(config_of({}).logs.prefix, "[${role_name}${local_rank}]:");
}

TEST(LogSettings, SizesAreBytesWithUnits) {
  const auto size = [](const char* text) { return config_of({std::string("--log-max-size=") + text}).logs.max_size; };
  EXPECT_EQ(size("4096"), 4096U);
  EXPECT_EQ(size("500K"), 512'000U);
  EXPECT_EQ(size("100M"), 104'857'600U);
  EXPECT_EQ(size("2G"), std::uint64_t{2} << 30);
  for (const char* bad : {"", "0", "K", "-1M", "1.5G", "10B", "3K"})
    EXPECT_THAT(fault_of({std::string("--log-max-size=") + bad}), HasSubstr("--log-max-size")) << bad;
}

TEST(LogSettings, FilesAreCountedWhereTheyHaveASize) {
  EXPECT_EQ(config_of({"--log-max-size=1M"}).logs.max_files, 5);
  EXPECT_EQ(config_of({"--log-max-size=1M", "--log-max-files=2"}).logs.max_files, 2);
  EXPECT_THAT(fault_of({"--log-max-files=2"}), HasSubstr("--log-max-size"));
  EXPECT_THAT(fault_of({"--log-max-size=1M", "--log-max-files=0"}), HasSubstr("1 or more"));
}

TEST(LogSettings, LaunchWritesFilesWhereItIsNeeded) {
  HostFacts network = plain_facts();
  network.log_dir_on_network = true;
  EXPECT_FALSE(config_of({}).logs.through_launch);
  EXPECT_TRUE(config_of({}, network).logs.through_launch);
  EXPECT_FALSE(config_of({"--log-writer=workers"}, network).logs.through_launch);
  EXPECT_TRUE(config_of({"--log-writer=launch"}).logs.through_launch);
  EXPECT_TRUE(config_of({"--log-max-size=1M"}).logs.through_launch);
  EXPECT_THAT(fault_of({"--log-max-size=1M", "--log-writer=workers"}), HasSubstr("expected launch"));
  EXPECT_THAT(fault_of({"--log-writer=me"}), HasSubstr("expected auto, workers or launch"));
}

TEST(LogSettings, ColoursAreForTerminalsUnlessTheUserSaysOtherwise) {
  HostFacts terminal = plain_facts();
  terminal.terminal_err = true;
  const auto coloured = [](const LogChoice& logs) { return (logs.coloured.out ? 1 : 0) + (logs.coloured.err ? 2 : 0); };
  EXPECT_EQ(coloured(config_of({}).logs), 0);
  EXPECT_EQ(coloured(config_of({}, terminal).logs), 2);
  EXPECT_EQ(coloured(config_of({"--color=always"}).logs), 3);
  EXPECT_EQ(coloured(config_of({"--color=never"}, terminal).logs), 0);
  EXPECT_TRUE(config_of({"--color=never"}, terminal).logs.aligned.err);
  terminal.env.set("NO_COLOR", "1");
  EXPECT_EQ(coloured(config_of({}, terminal).logs), 0);
  EXPECT_EQ(coloured(config_of({"--color=always"}, terminal).logs), 3);
  EXPECT_THAT(fault_of({"--color=red"}), HasSubstr("expected auto, always or never"));
}

TEST(LogSettings, APlugInIsSaidToHaveNoEffect) {
  for (const char* known : {"null", "console", "dynamic_rendezvous"})
    EXPECT_THAT(config_of({std::string("--event-log-handler=") + known}).notices, IsEmpty());
  EXPECT_THAT(config_of({"--event-log-handler=their", "--logs-specs=mine"}).notices,
              ElementsAre(HasSubstr("--logs-specs mine, --event-log-handler their has no effect")));
}

TEST(LogSettings, WhatIsThereAndNoFolderIsAnError) {
  HostFacts facts = plain_facts();
  facts.log_dir_is_no_folder = true;
  EXPECT_THAT(fault_of({"--log-dir=f"}, facts), HasSubstr("--log-dir f: not a folder"));
  EXPECT_EQ(fault_of({"--log-dir=/dev/null"}, facts), "");
}

TEST(LogSettings, EventsAreToldWhereTheyAreAskedFor) {
  EXPECT_EQ(config_of({}).events.file, "");
  EXPECT_EQ(config_of({"--events=-"}).events.file, "-");
  EXPECT_EQ(config_of({"--events", "a b"}).events.file, "a b");
  EXPECT_THAT(fault_of({"--events="}), HasSubstr("--events: the value is empty"));
}

TEST(LogSettings, EventsOfTorchrunFollowItsHandlerAndLevel) {
  EXPECT_FALSE(config_of({}).events.torchelastic);
  EXPECT_FALSE(config_of({"--event-log-handler=dynamic_rendezvous"}).events.torchelastic);
  EXPECT_TRUE(config_of({"--event-log-handler=console"}).events.torchelastic);
  EXPECT_TRUE(config_of({}, facts_with({{"PET_EVENT_LOG_HANDLER", "console"}})).events.torchelastic);
  EXPECT_TRUE(config_of({"--event-log-handler=console"}, facts_with({{"LOGLEVEL", "DEBUG"}})).events.torchelastic);
  EXPECT_FALSE(config_of({"--event-log-handler=console"}, facts_with({{"LOGLEVEL", "WARNING"}})).events.torchelastic);
}

TEST(LogSettings, HowMuchLaunchSaysIsAnOptionOrTorchrunsLevel) {
  const auto with_level = [](const char* level, const Args& args = {}) {
    return config_of(args, facts_with({{"LOGLEVEL", level}})).verbosity;
  };
  EXPECT_EQ(config_of({}).verbosity, Verbosity::usual);
  EXPECT_EQ(config_of({"-v"}).verbosity, Verbosity::verbose);
  EXPECT_EQ(config_of({"--quiet"}).verbosity, Verbosity::quiet);
  EXPECT_EQ(with_level("DEBUG"), Verbosity::verbose);
  EXPECT_EQ(with_level("INFO"), Verbosity::usual);
  EXPECT_EQ(with_level("WARNING"), Verbosity::quiet);
  EXPECT_EQ(with_level("ERROR"), Verbosity::quiet);
  EXPECT_EQ(with_level("strange"), Verbosity::usual);
  EXPECT_EQ(with_level("WARNING", {"-v"}), Verbosity::verbose);
  EXPECT_EQ(with_level("DEBUG", {"-q"}), Verbosity::quiet);
  const char* const hosted = "--verdict=hosted:a,b";
  EXPECT_EQ(with_level("DEBUG", {hosted}), Verbosity::hosted) << "the head has a level of its own";
  EXPECT_EQ(with_level("INFO", {hosted, "-v"}), Verbosity::verbose);
  EXPECT_EQ(with_level("INFO", {hosted, "-q"}), Verbosity::quiet);
  expect_faults({{{"-v", "--quiet"}, "--verbose and --quiet contradict each other"}});
}

TEST(LogSettings, EventsOfTorchrunNameRendezvousAndProgramAsItDoes) {
  EXPECT_EQ(config_of({}).events.backend, "c10d");
  EXPECT_EQ(config_of({"--master-port=29500"}).events.backend, "static");
  EXPECT_EQ(config_of({"--rdzv-backend=c10d", "--rdzv-endpoint=n:1", "--nnodes=2"}).events.backend, "c10d");
  EXPECT_EQ(config_of({}).events.entry_point, "python3");
}

TEST(LogSettings, TheFolderIsKept) {
  EXPECT_EQ(config_of({"--log-dir=/a/b"}).log_folder, "/a/b");
  EXPECT_EQ(config_of({"--log-dir="}).log_folder, "");
}

}  // namespace launch::log_settings_test

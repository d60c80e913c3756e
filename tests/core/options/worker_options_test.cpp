#include "launch/core/options/worker_options.hpp"

#include "../config/settling.hpp"
#include "launch/core/host/binding.hpp"

namespace launch::worker_options_test {

TEST(WorkerOptions, AreThoseOfTheWorkers) {
  for (const OptionRow& row : worker_options()) EXPECT_EQ(row.group, OptionGroup::workers) << row.name;
}

TEST(WorkerOptions, EveryBindingThatIsAChoiceIsKnown) {
  for (const std::string_view choice : row_of(&Options::numa_binding).choices)
    EXPECT_TRUE(parse_binding_mode(choice)) << choice;
}

TEST(WorkerOptions, TheRoleIsTheDefault) { EXPECT_EQ(config_of({}).role, row_of(&Options::role).initial); }

}  // namespace launch::worker_options_test

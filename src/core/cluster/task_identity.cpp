#include "launch/core/cluster/task_identity.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace launch {
namespace {

constexpr std::array<std::string_view, 22> whole{"PMI_FD",
                                                 "PMI_RANK",
                                                 "PMI_SIZE",
                                                 "PMI_ID",
                                                 "PMI_PORT",
                                                 "PMI_SPAWNED",
                                                 "PMI_JOBID",
                                                 "PMI_UNIVERSE_SIZE",
                                                 "PMI_SHARED_SECRET",
                                                 "OMPI_UNIVERSE_SIZE",
                                                 "OMPI_NUM_APP_CTX",
                                                 "OMPI_APP_CTX_NUM_PROCS",
                                                 "OMPI_FIRST_RANKS",
                                                 "OMPI_FILE_LOCATION",
                                                 "OMPI_COMMAND",
                                                 "OMPI_ARGV",
                                                 "OMPI_MCA_pmix",
                                                 "PRTE_LAUNCHED",
                                                 "MPI_LOCALRANKID",
                                                 "MPI_LOCALNRANKS",
                                                 "PALS_RANKID",
                                                 "PALS_LOCAL_RANKID"};

constexpr std::array<std::string_view, 12> beginnings{
    "PMI_LOCAL_",     "PMI_CONTROL_",  "PMIX_", "OMPI_COMM_WORLD_", "OMPI_WORLD_",    "OMPI_MCA_ess",
    "OMPI_MCA_orte_", "HYDRA_BSTRAP_", "HYDI_", "MV2_COMM_WORLD_",  "JSM_NAMESPACE_", "FLUX_TASK_"};

}  // namespace

Environment without_identity(const Environment& env) {
  Environment rest = env;
  for (const std::string& line : env.lines()) {
    const std::string_view name = std::string_view(line).substr(0, line.find('='));
    const bool is_ones_own =
        std::find(whole.begin(), whole.end(), name) != whole.end() ||
        std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view one) { return name.starts_with(one); });
    if (is_ones_own) rest.remove(name);
  }
  return rest;
}

}  // namespace launch

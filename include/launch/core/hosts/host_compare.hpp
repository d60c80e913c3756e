// What differs between the hosts of a job and should not: versions, architectures, GPUs, MTUs; and hosts that are one
// machine under two names. Used by core/hosts/doctor, on what hosts have said in a check. Pure. The value that most
// hosts have is taken for the right one; of equally frequent ones, that of the first host.
#pragma once

#include "launch/core/hosts/check_table.hpp"
#include "launch/core/hosts/host_facts.hpp"

#include <string>
#include <vector>

namespace launch {

struct HostValue {
  int node = 0;
  std::string value;
};

// A row for each value: ok, or a warning that says what the others have.
std::vector<CheckRow> compare_values(const std::string& check, const std::vector<HostValue>& values,
                                     const std::vector<std::string>& names);

struct SurveyedHost {
  int node = 0;
  std::string boot_id;
  std::vector<std::string> addresses;
  HostSurvey survey;
};

std::vector<CheckRow> compare_hosts(const std::vector<SurveyedHost>& hosts, const std::vector<std::string>& names);

}  // namespace launch

#include "launch/core/hosts/host_facts.hpp"

#include "launch/core/base/json_reader.hpp"
#include "launch/core/base/text.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

namespace launch {
namespace {

using SurveyJson = nlohmann::json;

constexpr std::size_t longest_fact = 100;      // a version, a name, an address
constexpr std::size_t longest_sentence = 400;  // for people
constexpr std::size_t most_faults = 4;
constexpr std::size_t most_processes = 16;
constexpr std::size_t most_interfaces = 16;
constexpr std::size_t most_addresses = 4;  // of an interface, and of a name
constexpr int most_devices = 1024;
constexpr int greatest_mtu = 1'000'000;
constexpr std::int64_t greatest_number = std::int64_t{1} << 53;  // JSON's

// In one line that is safe to show.
std::string fact(std::string_view text, std::size_t longest = longest_fact) { return without_controls(text, longest); }

template <class T, class Write>
SurveyJson list_of(const std::vector<T>& items, std::size_t most, Write write) {
  SurveyJson list = SurveyJson::array();
  for (std::size_t i = 0; i < std::min(most, items.size()); ++i) list.push_back(write(items[i]));
  return list;
}

SurveyJson lines_of(const std::vector<std::string>& lines) {
  return list_of(lines, most_addresses, [](const std::string& line) { return SurveyJson(fact(line)); });
}

SurveyJson write_gpu(const GpuLine& gpu) {
  return {{"name", fact(gpu.name)}, {"driver", fact(gpu.driver)}, {"total", gpu.total_mib}, {"free", gpu.free_mib}};
}

SurveyJson write_process(const SurveyedProcess& one) {
  return {{"pid", one.pid},
          {"command", fact(one.command)},
          {"run_id", fact(one.run_id)},
          {"orphan", one.orphan},
          {"on_gpu", one.on_gpu}};
}

SurveyJson write_space(const SurveyedSpace& space) {
  return {{"path", fact(space.path)}, {"total", space.total_mib}, {"free", space.free_mib}};
}

SurveyJson write_interface(const SurveyedInterface& one) {
  return {{"name", fact(one.name)}, {"addresses", lines_of(one.addresses)}, {"mtu", one.mtu}};
}

// What is absent, or is of another kind or size, is not known.

std::string read_fact(const JsonValue& value, std::size_t longest = longest_fact) {
  return fact(value.text().value_or(""), longest);
}

std::int64_t read_number(const JsonValue& value) {
  return value.whole64(limitless, greatest_number).value_or(not_known);
}

std::int64_t read_size(const JsonValue& value) { return value.whole64(0, greatest_number).value_or(not_known); }

template <class Read>
void read_list(const JsonValue& value, std::size_t most, Read read) {
  const auto items = value.list();
  for (std::size_t i = 0; items && i < std::min(most, items->size()); ++i) read((*items)[i]);
}

std::vector<std::string> read_facts(const JsonValue& value) {
  std::vector<std::string> facts;
  read_list(value, most_addresses, [&](const JsonValue& item) { facts.push_back(read_fact(item)); });
  return facts;
}

SurveyedProcess read_process(const JsonValue& value) {
  return {value["pid"].whole(0, std::numeric_limits<int>::max()).value_or(0), read_fact(value["command"]),
          read_fact(value["run_id"]), value["orphan"].flag().value_or(false), value["on_gpu"].flag().value_or(false)};
}

SurveyedSpace read_space(const JsonValue& value) {
  return {read_fact(value["path"]), read_size(value["total"]), read_size(value["free"])};
}

SurveyedPython read_python(const JsonValue& value) {
  return {read_fact(value["path"]), read_fact(value["version"]), read_fact(value["torch"]),
          read_fact(value["torch_for"]), read_fact(value["fault"], longest_sentence)};
}

SurveyedGpus read_gpus(const JsonValue& value) {
  SurveyedGpus gpus;
  read_list(value["list"], most_gpu_lines, [&](const JsonValue& item) {
    gpus.gpus.push_back(
        {read_fact(item["name"]), read_fact(item["driver"]), read_size(item["total"]), read_size(item["free"])});
  });
  gpus.devices = value["devices"].whole(0, most_devices).value_or(0);
  gpus.kind = read_fact(value["kind"]);
  gpus.fault = read_fact(value["fault"], longest_sentence);
  return gpus;
}

}  // namespace

std::string to_json(const HostSurvey& survey) {
  const SurveyedPython& python = survey.python;
  const SurveyedGpus& gpus = survey.gpus;
  const SurveyJson json = {
      {"faults",
       list_of(survey.faults, most_faults,
               [](const SurveyFault& one) {
                 return SurveyJson{{"check", fact(one.check)}, {"reason", fact(one.reason, longest_sentence)}};
               })},
      {"machine", fact(survey.machine)},
      {"python",
       {{"path", fact(python.path)},
        {"version", fact(python.version)},
        {"torch", fact(python.torch)},
        {"torch_for", fact(python.torch_for)},
        {"fault", fact(python.fault, longest_sentence)}}},
      {"gpus",
       {{"list", list_of(gpus.gpus, most_gpu_lines, write_gpu)},
        {"devices", gpus.devices},
        {"kind", fact(gpus.kind)},
        {"fault", fact(gpus.fault, longest_sentence)}}},
      {"processes", list_of(survey.processes, most_processes, write_process)},
      {"shm", write_space(survey.shm)},
      {"tmp", write_space(survey.tmp)},
      {"limits",
       {{"open_files", survey.limits.open_files},
        {"processes", survey.limits.processes},
        {"locked", survey.limits.locked_mib}}},
      {"name_leads_to", lines_of(survey.name_leads_to)},
      {"name_fault", fact(survey.name_fault, longest_sentence)},
      {"interfaces", list_of(survey.interfaces, most_interfaces, write_interface)},
      {"rdma_devices", survey.rdma_devices},
      {"asked", survey.asked_us},
      {"answered", survey.answered_us},
      {"unfinished", fact(survey.unfinished)}};
  return json.dump(-1, ' ', false, SurveyJson::error_handler_t::replace);
}

Result<HostSurvey> parse_survey(std::string_view json) {
  const JsonValue value = read_json(json, {.size = longest_survey, .depth = 6});
  if (!value.is_object()) return protocol_error("what it says of itself is not JSON");
  HostSurvey survey;
  read_list(value["faults"], most_faults, [&](const JsonValue& item) {
    survey.faults.push_back({read_fact(item["check"]), read_fact(item["reason"], longest_sentence)});
  });
  survey.machine = read_fact(value["machine"]);
  survey.python = read_python(value["python"]);
  survey.gpus = read_gpus(value["gpus"]);
  read_list(value["processes"], most_processes,
            [&](const JsonValue& item) { survey.processes.push_back(read_process(item)); });
  survey.shm = read_space(value["shm"]);
  survey.tmp = read_space(value["tmp"]);
  const JsonValue limits = value["limits"];
  survey.limits = {read_number(limits["open_files"]), read_number(limits["processes"]), read_number(limits["locked"])};
  survey.name_leads_to = read_facts(value["name_leads_to"]);
  survey.name_fault = read_fact(value["name_fault"], longest_sentence);
  read_list(value["interfaces"], most_interfaces, [&](const JsonValue& item) {
    survey.interfaces.push_back(
        {read_fact(item["name"]), read_facts(item["addresses"]), item["mtu"].whole(0, greatest_mtu).value_or(0)});
  });
  survey.rdma_devices = value["rdma_devices"].whole(0, most_devices).value_or(0);
  survey.asked_us = value["asked"].whole64(0, greatest_number).value_or(0);
  survey.answered_us = value["answered"].whole64(0, greatest_number).value_or(0);
  survey.unfinished = read_fact(value["unfinished"]);
  return survey;
}

}  // namespace launch

#include "launch/core/host/accelerator.hpp"

#include "launch/core/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

namespace launch {
namespace {

using DeviceList = std::vector<Accelerator>;

template <class T>
bool holds(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// The number that `text` starts with, as strtoul reads it: "1gpu" is 1. nullopt if there is none or it is negative.
std::optional<int> leading_number(std::string_view text) {
  text = trim(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc::result_out_of_range ? std::numeric_limits<int>::max() : value;
}

// The whole of `text` as an index.
std::optional<int> whole_number(std::string_view text) {
  text = trim(text);
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  return digits ? leading_number(text) : std::nullopt;
}

std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// An entry that is not a number ends the list. A repeated number makes the whole list worthless, even after one that no
// device has.
DeviceList chosen_by_index(const DeviceList& devices, std::string_view list) {
  std::vector<int> indices;
  for (const std::string_view entry : split(list, ',')) {
    const auto index = leading_number(entry);
    if (!index) break;
    if (holds(indices, *index)) return {};
    indices.push_back(*index);
  }
  DeviceList result;
  for (const int index : indices) {
    if (index >= static_cast<int>(devices.size())) break;
    result.push_back(devices[static_cast<std::size_t>(index)]);
  }
  return result;
}

// Entries up to the first that does not start with `prefix`; none if one is repeated.
std::vector<std::string> names_with(std::string_view prefix, std::string_view list) {
  std::vector<std::string> result;
  for (const std::string_view entry : split(list, ',')) {
    if (!entry.starts_with(prefix)) break;
    if (holds(result, std::string(entry))) return {};
    result.emplace_back(entry);
  }
  return result;
}

// The position of the one device whose UUID starts with `name`.
std::optional<std::size_t> only_match(const DeviceList& devices, const std::string& name) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!devices[i].uuid.starts_with(name)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

// In some containers no UUID can be read. Then a name is believed as long as there are devices that it could mean,
// since counting none would surely be wrong.
DeviceList chosen_by_uuid(const DeviceList& devices, const std::vector<std::string>& names) {
  auto nameless = std::count_if(devices.begin(), devices.end(), [](const auto& device) { return device.uuid.empty(); });
  std::vector<std::size_t> seen;
  DeviceList result;
  for (const std::string& name : names) {
    if (const auto match = only_match(devices, name)) {
      if (holds(seen, *match)) return {};
      seen.push_back(*match);
      result.push_back(devices[*match]);
    } else if (nameless-- > 0) {
      result.push_back({"", name, {}});
    } else {
      break;
    }
  }
  return result;
}

constexpr std::string_view old_mig_prefix = "MIG-GPU-";

// Drivers before 470 call an instance MIG-GPU-UUID/INSTANCE/INSTANCE, and later ones still know that name.
std::string gpu_of_old_name(std::string_view name) {
  if (!name.starts_with(old_mig_prefix)) return {};
  return std::string(name.substr(4, name.find('/') - 4));
}

// Could `name` be an instance of this GPU, although no known instance has that name?
bool may_have(const Accelerator& gpu, const std::string& name) {
  if (gpu.uuid.empty()) return true;
  if (gpu.mig_uuids.empty()) return false;
  const bool only_old_names = std::all_of(gpu.mig_uuids.begin(), gpu.mig_uuids.end(),
                                          [](const auto& mig) { return mig.starts_with(old_mig_prefix); });
  // There are two ways to name an instance, and here only the other one is known.
  if (name.starts_with(old_mig_prefix)) return !only_old_names && gpu_of_old_name(name) == gpu.uuid;
  return only_old_names;
}

DeviceList chosen_by_mig(const DeviceList& devices, const std::vector<std::string>& names) {
  DeviceList result;
  for (const std::string& name : names) {
    std::vector<const Accelerator*> candidates;
    for (const Accelerator& gpu : devices)
      if (holds(gpu.mig_uuids, name)) candidates.push_back(&gpu);
    if (candidates.empty())
      for (const Accelerator& gpu : devices)
        if (may_have(gpu, name)) candidates.push_back(&gpu);
    if (candidates.empty()) break;
    const bool sure = candidates.size() == 1;
    result.push_back({sure ? candidates[0]->pci_address : "", sure ? candidates[0]->uuid : "", {name}});
  }
  return result;
}

// The first entry decides how a list is read: by index, by UUID or by MIG instance.
DeviceList chosen_by(const DeviceList& devices, std::string_view list) {
  if (list.starts_with("GPU-")) return chosen_by_uuid(devices, names_with("GPU-", list));
  if (list.starts_with("MIG-")) return chosen_by_mig(devices, names_with("MIG-", list));
  return chosen_by_index(devices, list);
}

DeviceList visible_to_cuda(const DeviceList& devices, const Environment& env) {
  const auto list = env.get("CUDA_VISIBLE_DEVICES");
  return list ? chosen_by(devices, *list) : devices;
}

// The layer below HIP: indices and UUIDs may be mixed, and a repeated device ends the list as an invalid one does.
DeviceList visible_to_rocr(const DeviceList& devices, std::string_view list) {
  std::vector<std::size_t> chosen;
  for (const std::string_view entry : split(list, ',')) {
    const std::string name = lowered(trim(entry));
    std::optional<std::size_t> found;
    if (name.starts_with("gpu-")) {
      found = only_match(devices, "GPU-" + name.substr(4));
    } else if (const auto index = whole_number(name)) {
      found = static_cast<std::size_t>(*index);
    }
    if (!found || *found >= devices.size() || holds(chosen, *found)) break;
    chosen.push_back(*found);
  }
  DeviceList result;
  for (const std::size_t position : chosen) result.push_back(devices[position]);
  return result;
}

// The hexadecimal digits of AMD's UUIDs are written in either case.
std::string with_small_digits(std::string_view list) {
  std::string result;
  for (const std::string_view entry : split(list, ',')) {
    const std::size_t kept = entry.starts_with("GPU-") ? 4 : entry.size();
    result.append(entry.substr(0, kept)).append(lowered(entry.substr(kept))).append(",");
  }
  result.pop_back();
  return result;
}

// ROCR_VISIBLE_DEVICES removes devices first; then HIP's list counts those that are left.
DeviceList visible_to_rocm(const DeviceList& devices, const Environment& env) {
  const auto lower_list = env.get("ROCR_VISIBLE_DEVICES");
  DeviceList left = lower_list ? visible_to_rocr(devices, *lower_list) : devices;
  for (const char* name : {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
    if (const auto list = env.get(name)) return chosen_by(left, with_small_digits(*list));
  return left;
}

// Each device once, although `tiles` has it once per tile.
DeviceList whole_devices(const DeviceList& tiles) {
  DeviceList result;
  for (const Accelerator& tile : tiles)
    if (tile.pci_address.empty() || !holds(result, tile)) result.push_back(tile);
  return result;
}

// The mask is a set: it does not change the order, and a device that does not exist is ignored. Without a dot an index
// counts tiles, or devices if the hierarchy is COMPOSITE; with a dot, the number before it counts devices.
DeviceList visible_to_xpu(const DeviceList& tiles, const Environment& env) {
  const DeviceList whole = whole_devices(tiles);
  const DeviceList& devices = env.get("ZE_FLAT_DEVICE_HIERARCHY") == "COMPOSITE" ? whole : tiles;
  const auto mask = env.get("ZE_AFFINITY_MASK");
  if (!mask || trim(*mask).empty()) return devices;
  const bool dotted = mask->find('.') != std::string::npos;
  const DeviceList& counted = dotted ? whole : devices;
  std::set<int> chosen;
  for (const std::string_view entry : split(*mask, ','))
    if (const auto index = whole_number(entry.substr(0, entry.find('.')))) chosen.insert(*index);
  DeviceList result;
  for (const int index : chosen)
    if (index < static_cast<int>(counted.size())) result.push_back(counted[static_cast<std::size_t>(index)]);
  return result;
}

DeviceList visible_to_npu(const DeviceList& devices, const Environment& env) {
  const auto list = env.get("ASCEND_RT_VISIBLE_DEVICES");
  if (!list) return devices;
  std::vector<int> chosen;
  DeviceList result;
  for (const std::string_view entry : split(*list, ',')) {
    const auto index = whole_number(entry);
    if (!index || *index >= static_cast<int>(devices.size()) || holds(chosen, *index)) break;
    chosen.push_back(*index);
    result.push_back(devices[static_cast<std::size_t>(*index)]);
  }
  return result;
}

}  // namespace

std::vector<Accelerator> visible_accelerators(const AcceleratorFamily& all, const Environment& env) {
  switch (all.kind) {
    case AcceleratorKind::cuda:
      return visible_to_cuda(all.devices, env);
    case AcceleratorKind::rocm:
      return visible_to_rocm(all.devices, env);
    case AcceleratorKind::xpu:
      return visible_to_xpu(all.devices, env);
    case AcceleratorKind::npu:
      return visible_to_npu(all.devices, env);
  }
  return {};
}

std::vector<Accelerator> first_visible(const std::vector<AcceleratorFamily>& families,
                                       const std::vector<AcceleratorKind>& kinds, const Environment& env) {
  for (const AcceleratorFamily& family : families) {
    if (std::find(kinds.begin(), kinds.end(), family.kind) == kinds.end()) continue;
    auto visible = visible_accelerators(family, env);
    if (!visible.empty()) return visible;
  }
  return {};
}

}  // namespace launch

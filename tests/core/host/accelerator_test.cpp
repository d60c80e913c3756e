#include "launch/core/host/accelerator.hpp"

#include <gtest/gtest.h>

namespace launch::accelerator_test {

using Names = std::vector<std::string>;

const Accelerator first = {"0000:07:00.0", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", {}};
const Accelerator second = {"0000:0b:00.0", "GPU-8a1b0000-1111-2222-3333-444444444444", {}};
const Accelerator third = {"0000:48:00.0", "GPU-c0ffee00-1111-2222-3333-444444444444", {}};
const Accelerator split = {"0000:4c:00.0",
                           "GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f",
                           {"MIG-0f3b6a55-5d0c-5b6e-9d2a-000000000001", "MIG-0f3b6a55-5d0c-5b6e-9d2a-000000000002"}};

const AcceleratorFamily cuda = {AcceleratorKind::cuda, {first, second, third, split}};

// What is seen, as one letter a device; for an instance of a divided GPU the address and the name.
std::string seen(const AcceleratorFamily& family, const Environment& env) {
  std::string result;
  for (const Accelerator& device : visible_accelerators(family, env)) {
    const auto it = std::find(family.devices.begin(), family.devices.end(), device);
    if (it != family.devices.end()) {
      result += static_cast<char>('a' + (it - family.devices.begin()));
    } else {
      result += "[" + device.pci_address + " " + (device.mig_uuids.empty() ? device.uuid : device.mig_uuids[0]) + "]";
    }
  }
  return result;
}

struct Case {
  std::string list;
  std::string seen;
};

TEST(Accelerator, WithoutAListAllAreSeenAndADividedOneOnce) { EXPECT_EQ(seen(cuda, {}), "abcd"); }

TEST(Accelerator, CudaListsOfIndices) {
  const std::vector<Case> cases = {
      {"0", "a"},
      {"0,1,2,3", "abcd"},
      {"2,0", "ca"},
      {"", ""},
      {"-1", ""},
      {"0,2,-1,1", "ac"},
      {"0,7,1", "a"},
      {"7", ""},
      {"0,0", ""},
      {"0,1,0", ""},
      {"0,-1,0", "a"},
      {"0,9,0", ""},
      {" 1 , 2 ", "bc"},
      {"1gpu,2ampere", "bc"},
      {"NoDevFiles", ""},
      {"+1", "b"},
      {"-", ""},
      {"0,,1", "a"},
      {"0,", "a"},
      {",0", ""},
      {"99999999999999999999", ""},
      {"3", "d"},
  };
  for (const Case& c : cases) EXPECT_EQ(seen(cuda, {{"CUDA_VISIBLE_DEVICES", c.list}}), c.seen) << '"' << c.list << '"';
}

TEST(Accelerator, CudaListsOfUuids) {
  const std::vector<Case> cases = {
      {first.uuid, "a"},
      {third.uuid + "," + first.uuid, "ca"},
      {"GPU-8932f937", "a"},
      {"GPU-c,GPU-8932", "ca"},
      {"GPU-8", ""},  // two start so
      {"GPU-c,GPU-8,GPU-5", "c"},
      {"GPU-c,GPU-dead", "c"},
      {"GPU-c,GPU-c", ""},
      {"GPU-c,GPU-c0ffee", ""},  // the same device by two names
      {"GPU-c,0", "c"},          // the first entry decides how the rest is read
      {"0,GPU-c", "a"},
      {"GPU-", ""},
      {"GPU-C0FFEE", ""},
      {"GPU-5c89852c", "d"},
  };
  for (const Case& c : cases) EXPECT_EQ(seen(cuda, {{"CUDA_VISIBLE_DEVICES", c.list}}), c.seen) << c.list;
}

TEST(Accelerator, CudaListsOfMigInstances) {
  const std::string one = split.mig_uuids[0];
  const std::string two = split.mig_uuids[1];
  const auto instance = [](const std::string& name) { return "[0000:4c:00.0 " + name + "]"; };
  const std::string old_name = "MIG-GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f/1/0";
  const std::vector<Case> cases = {
      {one, instance(one)},
      {two + "," + one, instance(two) + instance(one)},
      {one + "," + one, ""},
      {one + ",0," + two, instance(one)},
      {"MIG-0f3b6a55-5d0c-5b6e-9d2a-000000000009", ""},
      {old_name, instance(old_name)},
      {"MIG-" + first.uuid + "/1/0", ""},  // that GPU is whole
      {"0," + one, "a"},
  };
  for (const Case& c : cases) EXPECT_EQ(seen(cuda, {{"CUDA_VISIBLE_DEVICES", c.list}}), c.seen) << c.list;
  const auto visible = visible_accelerators(cuda, {{"CUDA_VISIBLE_DEVICES", two}});
  ASSERT_EQ(visible.size(), 1U);
  EXPECT_EQ(visible[0], (Accelerator{split.pci_address, split.uuid, {two}}));
}

TEST(Accelerator, MigInstancesOfOldDriversAreKnownByTheirPlace) {
  const std::string name = "MIG-" + split.uuid;
  const AcceleratorFamily old = {AcceleratorKind::cuda,
                                 {first, {split.pci_address, split.uuid, {name + "/1/0", name + "/11/0"}}}};
  const auto seen_by = [&](const std::string& list) { return seen(old, {{"CUDA_VISIBLE_DEVICES", list}}); };
  EXPECT_EQ(seen_by(name + "/1/0"), "[0000:4c:00.0 " + name + "/1/0]");
  EXPECT_EQ(seen_by(name + "/2/0"), "");
  EXPECT_EQ(seen_by("MIG-0f3b6a55-5d0c-5b6e-9d2a-000000000001"),
            "[0000:4c:00.0 MIG-0f3b6a55-5d0c-5b6e-9d2a-000000000001]")
      << "its new name is not known and may be right";
}

TEST(Accelerator, WhereNoUuidIsKnownNamesAreBelieved) {
  const AcceleratorFamily nameless = {AcceleratorKind::cuda, {{"", "", {}}, {"", "", {}}}};
  EXPECT_EQ(visible_accelerators(nameless, {{"CUDA_VISIBLE_DEVICES", "GPU-1,GPU-2"}}).size(), 2U);
  EXPECT_EQ(visible_accelerators(nameless, {{"CUDA_VISIBLE_DEVICES", "GPU-1,GPU-2,GPU-3"}}).size(), 2U);
  EXPECT_EQ(visible_accelerators(nameless, {{"CUDA_VISIBLE_DEVICES", "MIG-1,MIG-2,MIG-3"}}).size(), 3U);
  EXPECT_EQ(visible_accelerators(nameless, {{"CUDA_VISIBLE_DEVICES", "1"}}).size(), 1U);
}

TEST(Accelerator, CudaIgnoresTheVariablesOfOthers) {
  EXPECT_EQ(seen(cuda, {{"HIP_VISIBLE_DEVICES", "0"},
                        {"ROCR_VISIBLE_DEVICES", ""},
                        {"ZE_AFFINITY_MASK", "0"},
                        {"ASCEND_RT_VISIBLE_DEVICES", ""}}),
            "abcd");
}

const AcceleratorFamily rocm = {AcceleratorKind::rocm,
                                {{"0000:c1:00.0", "GPU-1a2b3c4d5e6f7081", {}},
                                 {"0000:c6:00.0", "GPU-00a1b2c3d4e5f607", {}},
                                 {"0000:c9:00.0", "GPU-00a1ffffffffffff", {}},
                                 {"0000:ce:00.0", "", {}}}};

struct RocmCase {
  std::optional<std::string> rocr, hip, cuda;
  std::string seen;
};

TEST(Accelerator, RocmListsTakeEffectOneAfterTheOther) {
  constexpr std::nullopt_t unset = std::nullopt;
  const std::vector<RocmCase> cases = {
      {unset, unset, unset, "abcd"},
      {unset, "1,0", unset, "ba"},
      {unset, unset, "2", "c"},
      {unset, "0", "1,2,3", "a"},  // HIP's own goes before CUDA's
      {unset, "", "1", ""},
      {unset, "0,0", unset, ""},
      {unset, ",1", unset, ""},
      {unset, "GPU-1a2b", unset, "a"},
      {unset, "GPU-1A2B3C4D5E6F7081,GPU-00A1B2", unset, "ab"},
      {"1,3", unset, unset, "bd"},
      {"3,1", unset, unset, "db"},
      {"1,3", "1", unset, "d"},  // the second of those that are left
      {"1,3", "2", unset, ""},
      {"1,3", unset, "0", "b"},
      {"", unset, unset, ""},
      {"1,1,2", unset, unset, "b"},
      {"1,9,2", unset, unset, "b"},
      {"1,2x", unset, unset, "b"},
      {" 2 , gpu-1A2B3C4D5E6F7081", unset, unset, "ca"},
      {"gpu-00a1", unset, unset, ""},  // two start so
  };
  for (const RocmCase& c : cases) {
    Environment env;
    if (c.rocr) env.set("ROCR_VISIBLE_DEVICES", *c.rocr);
    if (c.hip) env.set("HIP_VISIBLE_DEVICES", *c.hip);
    if (c.cuda) env.set("CUDA_VISIBLE_DEVICES", *c.cuda);
    EXPECT_EQ(seen(rocm, env), c.seen) << c.rocr.value_or("-") << " " << c.hip.value_or("-") << " "
                                       << c.cuda.value_or("-");
  }
}

// Two devices of two tiles each.
const Accelerator max_one = {"0000:29:00.0", "", {}};
const Accelerator max_two = {"0000:9a:00.0", "", {}};
const AcceleratorFamily xpu = {AcceleratorKind::xpu, {max_one, max_one, max_two, max_two}};

TEST(Accelerator, IntelMasksAreSetsOfTilesOrOfDevices) {
  struct XpuCase {
    std::string hierarchy, mask;
    Names addresses;
  };
  const std::string one = max_one.pci_address;
  const std::string two = max_two.pci_address;
  const std::vector<XpuCase> cases = {
      {"FLAT", "0", {one}},
      {"FLAT", "3,0", {one, two}},
      {"FLAT", "1,2,7", {one, two}},
      {"FLAT", "", {one, one, two, two}},
      {"FLAT", "0,0", {one}},
      {"COMPOSITE", "", {one, two}},
      {"COMPOSITE", "1", {two}},
      {"COMPOSITE", "0,1", {one, two}},
      {"COMPOSITE", "2", {}},
      {"COMPOSITE", "0.0", {one}},
      {"COMPOSITE", "0.0,0.1", {one}},
      {"COMPOSITE", "0.1,1.0", {one, two}},
      {"FLAT", "1.0", {two}},
      {"FLAT", "x,2", {two}},
      {"FLAT", "-1,2", {two}},
  };
  for (const XpuCase& c : cases) {
    Names addresses;
    for (const Accelerator& device :
         visible_accelerators(xpu, {{"ZE_FLAT_DEVICE_HIERARCHY", c.hierarchy}, {"ZE_AFFINITY_MASK", c.mask}}))
      addresses.push_back(device.pci_address);
    EXPECT_EQ(addresses, c.addresses) << c.hierarchy << " " << c.mask;
  }
  EXPECT_EQ(visible_accelerators(xpu, {}), xpu.devices);
}

TEST(Accelerator, AscendListsEndAtTheFirstInvalidEntry) {
  const AcceleratorFamily npu = {AcceleratorKind::npu, {first, second, third}};
  const std::vector<Case> cases = {{"0,1,2", "abc"}, {"2,0", "ca"},  {"", ""},       {"1,3,0", "b"},
                                   {"1,-1,0", "b"},  {"1,1,0", "b"}, {"0, 2", "ac"}, {"0,1x", "a"}};
  for (const Case& c : cases) EXPECT_EQ(seen(npu, {{"ASCEND_RT_VISIBLE_DEVICES", c.list}}), c.seen) << c.list;
  EXPECT_EQ(seen(npu, {{"CUDA_VISIBLE_DEVICES", "0"}}), "abc");
}

TEST(Accelerator, TheFirstKindOfWhichAnyIsVisibleCounts) {
  const std::vector<AcceleratorFamily> families{{AcceleratorKind::cuda, std::vector<Accelerator>(2)},
                                                {AcceleratorKind::npu, std::vector<Accelerator>(3)}};
  EXPECT_EQ(first_visible(families, all_accelerator_kinds, {}).size(), 2U);
  EXPECT_EQ(first_visible(families, all_accelerator_kinds, {{"CUDA_VISIBLE_DEVICES", ""}}).size(), 3U);
  EXPECT_EQ(first_visible(families, {AcceleratorKind::npu}, {}).size(), 3U);
  EXPECT_EQ(first_visible(families, {AcceleratorKind::xpu}, {}).size(), 0U);
}

}  // namespace launch::accelerator_test

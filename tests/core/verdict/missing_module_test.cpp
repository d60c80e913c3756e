#include "launch/core/verdict/missing_module.hpp"

#include <gtest/gtest.h>

namespace launch::missing_module_test {

std::string module_of(std::string detail) {
  Failure failure;
  failure.detail = std::move(detail);
  return missing_module(failure);
}

TEST(MissingModule, IsNamedByPythonsError) {
  EXPECT_EQ(module_of("ModuleNotFoundError: No module named 'torch'"), "torch");
  EXPECT_EQ(module_of("ModuleNotFoundError: No module named 'torch.nn'; 'torch' is not a package"), "torch");
  EXPECT_EQ(module_of("ModuleNotFoundError: No module named '../x'"), "");
  EXPECT_EQ(module_of("ModuleNotFoundError: No module named 'a/b'"), "");
  EXPECT_EQ(module_of("ImportError: libcudart.so.12: cannot open shared object file"), "");
  EXPECT_EQ(module_of(""), "");
}

TEST(MissingModule, TheNoteNamesWhoWasAskedAndWhoHasIt) {
  EXPECT_EQ(note_of_interpreters("torch", "/usr/bin/python3", {"/opt/venv/bin/python"}),
            "/usr/bin/python3 has no module torch; /opt/venv/bin/python has it: PYTHON_EXEC says which one to use");
  EXPECT_EQ(note_of_interpreters("torch", "/usr/bin/python3", {"/usr/bin/python3", "/a", "/b", "/c", "/d"}),
            "/usr/bin/python3 has no module torch; /a and /b and /c have it: PYTHON_EXEC says which one to use");
  EXPECT_EQ(note_of_interpreters("torch", "/usr/bin/python3", {}),
            "/usr/bin/python3 has no module torch; no other Python of PATH, VIRTUAL_ENV or CONDA_PREFIX has it either");
  EXPECT_EQ(note_of_interpreters("torch", "", {"/a"}), "/a has module torch: PYTHON_EXEC says which one to use");
  EXPECT_EQ(note_of_interpreters("torch", "", {}),
            "no other Python of PATH, VIRTUAL_ENV or CONDA_PREFIX has module torch either");
}

}  // namespace launch::missing_module_test

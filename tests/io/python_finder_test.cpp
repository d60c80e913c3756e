#include "launch/io/python_finder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace launch::python_finder_test {

namespace fs = std::filesystem;

class PythonFinder : public testing::Test {
 protected:
  PythonFinder() { fs::create_directories(root_); }
  ~PythonFinder() override { fs::remove_all(root_); }

  // An interpreter PREFIX/bin/python3 whose packages are in `packages`; empty: it has none.
  std::string install(const std::string& prefix, const std::string& packages) {
    fs::create_directories(root_ / prefix / "bin");
    if (!packages.empty()) fs::create_directories(root_ / prefix / packages);
    std::ofstream(root_ / prefix / "bin/python3") << "no program";
    return root_ / prefix / "bin/python3";
  }
  std::string bin(const std::string& prefix) { return root_ / prefix / "bin"; }

  const fs::path root_ = fs::path(testing::TempDir()) / ("python_finder_" + std::to_string(::getpid()));
};

using List = std::vector<std::string>;

TEST_F(PythonFinder, KnowsWhereEachOneKeepsItsPackages) {
  const std::string plain = install("plain", "lib/python3.11/site-packages/torch");
  const std::string debian = install("debian", "lib/python3/dist-packages/torch");
  const std::string local = install("local", "local/lib/python3.11/dist-packages");
  std::ofstream(root_ / "local/local/lib/python3.11/dist-packages/torch.py") << "";
  install("without", "lib/python3.11/site-packages/numpy");
  install("two", "lib/python2.7/site-packages/torch");
  const std::string path = bin("without") + ":" + bin("plain") + "::" + bin("two") + ":/nowhere:" + bin("debian") +
                           ":" + bin("local") + ":" + bin("plain");
  EXPECT_EQ(pythons_with("torch", {{"PATH", path}}), (List{plain, debian, local}));
  EXPECT_EQ(pythons_with("torch", {}), List());
}

TEST_F(PythonFinder, NamesOneThatIsThereTwiceOnce) {
  const std::string real = install("usr", "lib/python3.11/site-packages/torch");
  fs::create_directory_symlink(root_ / "usr/bin", root_ / "bin");
  EXPECT_EQ(pythons_with("torch", {{"PATH", bin("usr") + ":" + root_.string() + "/bin"}}), List{real});
}

TEST_F(PythonFinder, FollowsLinksUnlessItIsAnEnvironmentOfItsOwn) {
  const std::string real = install("real", "lib/python3.11/site-packages/torch");
  for (const char* prefix : {"link", "venv"}) {
    fs::create_directories(root_ / prefix / "bin");
    fs::create_symlink(real, root_ / prefix / "bin/python");
  }
  std::ofstream(root_ / "venv/pyvenv.cfg") << "";
  EXPECT_EQ(pythons_with("torch", {{"PATH", bin("link") + ":" + bin("venv")}}), List{bin("link") + "/python"});
  fs::create_directories(root_ / "venv/lib/python3.12/site-packages/torch");
  EXPECT_EQ(pythons_with("torch", {{"PATH", bin("link")}, {"VIRTUAL_ENV", root_ / "venv"}}),
            (List{bin("venv") + "/python", bin("link") + "/python"}));
}

}  // namespace launch::python_finder_test

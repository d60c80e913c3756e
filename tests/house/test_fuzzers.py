"""The fuzzers are built only by --long: here, that each still compiles against today's headers."""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def complaints(source):
    compiler = os.environ.get("CXX") or shutil.which("c++")
    command = [compiler, "-std=c++20", "-fsyntax-only", "-DFMT_HEADER_ONLY", f"-I{ROOT / 'include'}", source]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout


class Fuzzers(unittest.TestCase):
    load = 2

    def test_each_compiles(self):
        sources = sorted((ROOT / "tests/fuzz").glob("*_fuzz.cpp"))
        self.assertTrue(sources)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for source, said in zip(sources, pool.map(complaints, sources)):
                with self.subTest(source.name):
                    self.assertEqual(said, "")

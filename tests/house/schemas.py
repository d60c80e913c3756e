"""Makes build/schemas, a Python environment with kubernetes-validate, which has the schemas of Kubernetes.

Needs the network, which tests have not; so the suite calls it before test_manifests. What is there stays.
"""
import pathlib
import subprocess
import sys

HOME = pathlib.Path(__file__).resolve().parents[2] / "build" / "schemas"
PYTHON = HOME / "bin" / "python"
COMPLETE = HOME / "complete"  # has PACKAGES as they were when it was made
# kubernetes-validate (Apache licence) with what it imports.
PACKAGES = ("kubernetes-validate==1.37.0", "attrs==26.1.0", "importlib-resources==7.1.0", "jsonschema==4.26.0",
            "jsonschema-specifications==2025.9.1", "packaging==26.4", "PyYAML==6.0.4", "referencing==0.37.0",
            "rpds-py==2026.9.1", "typing-extensions==4.16.0")


def is_complete():
    return COMPLETE.exists() and COMPLETE.read_text(encoding="utf-8") == " ".join(PACKAGES)


def main():
    if is_complete():
        return
    print(f"   {PACKAGES[0]}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", HOME], check=True)
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", *PACKAGES],
                   check=True)
    COMPLETE.write_text(" ".join(PACKAGES), encoding="utf-8")


if __name__ == "__main__":
    main()

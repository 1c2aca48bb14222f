#!/usr/bin/env python3
"""Lets PyPI's CUDA torch wheel be imported on a machine without the nvidia packages: makes libraries of the needed names
beside torch's own, whose functions all answer 100 (cudaErrorNoDevice). Needs gcc and readelf.

usage: cuda_stubs.py TORCH_LIB_FOLDER
"""
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

SYSTEM = re.compile(r"(lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s|gomp)\.so|ld-linux)")
SYSTEM_VERSIONS = ("GLIBC", "GCC", "CXXABI", "GOMP", "OMP")
CUDA = re.compile(r"^(_{0,2}cu|nv|nccl|_Z.*nvshmem|ccupti)", re.I)


def readelf(*arguments):
    return subprocess.run(["readelf", *arguments], capture_output=True, text=True, check=False).stdout


def needed_libraries(folder, libraries):
    found = set()
    for library in libraries:
        for name in re.findall(r"NEEDED.*\[(.*)\]", readelf("-d", str(library))):
            if not (folder / name).exists() and not SYSTEM.match(name):
                found.add(name)
    return found


def symbols(libraries):
    """({undefined global name: version}, {defined names})"""
    undefined, defined = {}, set()
    for library in libraries:
        for line in readelf("--dyn-syms", "-W", str(library)).splitlines():
            parts = line.split()
            if len(parts) < 8 or parts[4] not in ("GLOBAL", "WEAK"):
                continue
            name, _, version = parts[7].partition("@")
            if parts[6] != "UND":
                defined.add(name)
            elif parts[4] == "GLOBAL" and not any(v in version for v in SYSTEM_VERSIONS):
                undefined[name] = version.lstrip("@")
    return undefined, defined


def version_homes(libraries, needed):
    """{version name: the library that must define it}"""
    homes = {}
    for library in libraries:
        current = None
        for line in readelf("-V", "-W", str(library)).splitlines():
            file = re.search(r"File: (\S+)", line)
            version = re.search(r"Name: (\S+)\s+Flags", line)
            if file:
                current = file.group(1)
            if version and current in needed:
                homes[version.group(1)] = current
    return homes


def build(target, soname, functions, versions):
    """One stub library. functions: names; versions: {version: names} that it must define."""
    with tempfile.TemporaryDirectory() as scratch:
        assembly, script = Path(scratch, "stub.S"), Path(scratch, "versions.map")
        labels = "".join(f".globl {n}\n.type {n},@function\n{n}:\n" for n in functions)
        assembly.write_text(f'.text\n{labels}  movl $100, %eax\n  ret\n.section .note.GNU-stack,"",@progbits\n')
        script.write_text("".join(f"{v} {{ global: {'; '.join(names) or '__none_' + v.replace('.', '_')}; }};\n"
                                  for v, names in sorted(versions.items())))
        extra = [f"-Wl,--version-script={script}"] if versions else []
        subprocess.check_call(["gcc", *extra, "-shared", f"-Wl,-soname,{soname}", "-o", str(target), str(assembly)])


def main(folder):
    libraries = sorted(folder.glob("*.so*"))
    needed = needed_libraries(folder, libraries)
    if not needed:
        return  # made before, or a torch without CUDA
    undefined, defined = symbols(libraries)
    wanted = sorted(n for n in undefined if n not in defined and CUDA.match(n))
    homes = version_homes(libraries, needed)
    fallback = next(n for n in sorted(needed) if n.startswith("libcudart"))
    by_library = defaultdict(lambda: defaultdict(list))
    for name in wanted:
        version = undefined[name].split(" ")[0]
        by_library[homes.get(version, fallback)][version if version in homes else ""].append(name)
    for library in sorted(needed):
        groups = by_library[library]
        versions = {v: groups.get(v, []) for v, home in homes.items() if home == library}
        build(folder / library, library, sorted(n for names in groups.values() for n in names), versions)
    print(f"{len(needed)} libraries, {len(wanted)} functions")


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C"
    main(Path(sys.argv[1]))

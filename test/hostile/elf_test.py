#!/usr/bin/env python3
"""Checks the ELF headers of the programs: position-independent, nothing writable and executable, relocations read-only before main() runs,
no search paths, no text relocations; and, with --hardened, stack protection and fortified libc calls. The program behind --without does not need
the library whose name begins so.

  elf_test.py [--hardened] PROGRAM... [--without LIBRARY PROGRAM]"""
import struct
import sys

PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 3, 0x6474E551, 0x6474E552
DT_NEEDED, DT_STRTAB, DT_RPATH, DT_TEXTREL, DT_BIND_NOW, DT_RUNPATH, DT_FLAGS, DT_FLAGS_1, SHT_DYNSYM = 1, 5, 15, 22, 24, 29, 30, 0x6FFFFFFB, 11
DF_BIND_NOW, DF_TEXTREL, DF_1_NOW, DF_1_PIE, PF_X, PF_W, ET_DYN = 8, 4, 1, 0x08000000, 1, 2, 3


class Elf:
    def __init__(self, path):
        with open(path, "rb") as source:
            self.data = source.read()
        if self.data[:4] != b"\x7fELF" or self.data[4] != 2 or self.data[5] != 1:
            raise SystemExit(f"{path} is not a 64-bit little-endian ELF file")
        self.type = struct.unpack_from("<H", self.data, 16)[0]
        start, = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        names = ("type", "flags", "offset", "address", "physical", "file_size", "size", "align")
        self.segments = [dict(zip(names, struct.unpack_from("<IIQQQQQQ", self.data, start + i * size))) for i in range(count)]
        self.dynamic = []
        for segment in self.of(PT_DYNAMIC):
            for at in range(segment["offset"], segment["offset"] + segment["file_size"], 16):
                tag, value = struct.unpack_from("<QQ", self.data, at)
                if tag == 0:
                    break
                self.dynamic.append((tag, value))

    def of(self, kind):
        return [s for s in self.segments if s["type"] == kind]

    def value(self, tag):
        return next((v for t, v in self.dynamic if t == tag), 0)

    def has(self, tag):
        return any(t == tag for t, _ in self.dynamic)

    def file_offset(self, address):
        for s in self.of(PT_LOAD):
            if s["address"] <= address < s["address"] + s["file_size"]:
                return address - s["address"] + s["offset"]
        raise SystemExit("an address is in no segment")

    def imports(self):
        """Names in the dynamic symbol table. Its length stands in its section header alone: linkers put other tables behind it."""
        names = self.file_offset(self.value(DT_STRTAB))
        start, = struct.unpack_from("<Q", self.data, 40)
        size, count = struct.unpack_from("<HH", self.data, 58)
        found = set()
        for header in range(start, start + count * size, size):
            kind, = struct.unpack_from("<I", self.data, header + 4)
            offset, length = struct.unpack_from("<QQ", self.data, header + 24)
            for at in range(offset, offset + length, 24) if kind == SHT_DYNSYM else ():
                name, = struct.unpack_from("<I", self.data, at)
                text = self.data[names + name:self.data.index(b"\0", names + name)]
                found.add(text.decode(errors="replace"))
        return found


    def needed(self):
        """Names of the shared libraries that the program is linked with."""
        names = self.file_offset(self.value(DT_STRTAB))
        return [self.data[names + v:self.data.index(b"\0", names + v)].decode() for t, v in self.dynamic if t == DT_NEEDED]


def check(path, hardened):
    elf = Elf(path)
    flags, flags_1 = elf.value(DT_FLAGS), elf.value(DT_FLAGS_1)
    facts = {
        "position-independent": elf.type == ET_DYN and bool(elf.of(PT_INTERP)) and bool(flags_1 & DF_1_PIE),
        "relocations read-only": bool(elf.of(PT_GNU_RELRO)),
        "bound before main()": bool(flags & DF_BIND_NOW or flags_1 & DF_1_NOW or elf.has(DT_BIND_NOW)),
        "stack not executable": all(not s["flags"] & PF_X for s in elf.of(PT_GNU_STACK)) and bool(elf.of(PT_GNU_STACK)),
        "nothing writable and executable": all(not (s["flags"] & PF_W and s["flags"] & PF_X) for s in elf.of(PT_LOAD)),
        "no search paths": not elf.has(DT_RPATH) and not elf.has(DT_RUNPATH),
        "no text relocations": not elf.has(DT_TEXTREL) and not flags & DF_TEXTREL,
    }
    if hardened:
        imports = elf.imports()
        facts["stack protector"] = "__stack_chk_fail" in imports
        facts["fortified libc calls"] = any(name.startswith("__") and name.endswith("_chk") for name in imports)
    return [f"{path}: not so: {fact}" for fact, holds in facts.items() if not holds], len(facts)


def main():
    arguments = [a for a in sys.argv[1:] if a]
    hardened = "--hardened" in arguments
    wrong = []
    if "--without" in arguments:
        at = arguments.index("--without")
        library, program = arguments[at + 1:at + 3]
        del arguments[at:at + 3]
        wrong += [f"{program}: is linked with {name}" for name in Elf(program).needed() if name.startswith(library)]
    for path in [a for a in arguments if a != "--hardened"]:
        found, count = check(path, hardened)
        wrong += found
        print(f"{path}: {count - len(found)} of {count} hold")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

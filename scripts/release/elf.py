"""What a release needs to know of an ELF file: its machine, its loader, and the libraries that it names. ldd would run the program, which a program of
another machine does not allow."""
import struct

MACHINES = {62: "amd64", 183: "arm64"}
PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB = 1, 5


class Elf:
    """A 64-bit little-endian ELF file: `machine` (amd64, arm64), `loader` (a path, or None) and `needed` (names of libraries)."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: no 64-bit little-endian ELF file")
        machine, = struct.unpack_from("<H", self.data, 18)
        self.machine = MACHINES.get(machine, f"machine-{machine}")
        offset, = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        self.segments = [struct.unpack_from("<IIQQQQ", self.data, offset + index * size) for index in range(count)]
        self.loader, self.needed = None, []
        for kind, _, start, _, _, length in self.segments:
            if kind == PT_INTERP:
                self.loader = self.data[start:start + length].rstrip(b"\0").decode()
            elif kind == PT_DYNAMIC:
                self.needed = self._needed(start, length)

    def _file_offset(self, address):
        for kind, _, start, begin, _, length in self.segments:
            if kind == PT_LOAD and begin <= address < begin + length:
                return address - begin + start
        raise ValueError("a dynamic entry points outside of the file")

    def _needed(self, start, length):
        entries = [struct.unpack_from("<QQ", self.data, start + at) for at in range(0, length, 16)]
        tables = [value for tag, value in entries if tag == DT_STRTAB]
        if not tables:
            return []
        names = self._file_offset(tables[0])
        return [self.data[names + value:self.data.index(b"\0", names + value)].decode() for tag, value in entries if tag == DT_NEEDED]

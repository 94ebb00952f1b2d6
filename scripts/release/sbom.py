"""Bills of materials of an archive or image: CycloneDX 1.6 and SPDX 2.3, from one list of packages and files. Identifiers follow from the contents, the
time is the commit's, so that the same release gives the same bytes."""
import hashlib
import re
import uuid

from layout import moment
from project import NAME

# The distribution whose packages the programs link, as package URLs name it.
DISTRIBUTION = "debian-12"
# Debian's short names that SPDX's list calls otherwise. What is in neither is a reference of its own, with the package's copyright file as its text.
SPDX_IDS = {"Expat": "MIT", "MIT": "MIT", "Apache-2.0": "Apache-2.0", "Apache-2": "Apache-2.0", "BSD-3-clause": "BSD-3-Clause", "BSD-3-Clause": "BSD-3-Clause",
            "BSD-2-clause": "BSD-2-Clause", "BSD-2-Clause": "BSD-2-Clause", "BSL-1.0": "BSL-1.0", "CC0-1.0": "CC0-1.0", "GPL-2": "GPL-2.0-only",
            "GPL-2+": "GPL-2.0-or-later", "GPL-2.0+": "GPL-2.0-or-later", "GPL-3": "GPL-3.0-only", "GPL-3+": "GPL-3.0-or-later", "GPL-3.0+": "GPL-3.0-or-later",
            "LGPL-2": "LGPL-2.0-only", "LGPL-2+": "LGPL-2.0-or-later", "LGPL-2.1": "LGPL-2.1-only", "LGPL-2.1+": "LGPL-2.1-or-later", "LGPL-3": "LGPL-3.0-only",
            "LGPL-3+": "LGPL-3.0-or-later", "ISC": "ISC", "Zlib": "Zlib", "zlib": "Zlib", "curl": "curl", "Unlicense": "Unlicense", "X11": "X11",
            "OpenLDAP-2.8": "OLDAP-2.8"}


class Material:
    """What is in an archive: files by path with their bytes, and the packages that brought them or are compiled in."""

    def __init__(self, title, version, sysroot, files, owners):
        """files: {path: bytes}; owners: {path: package}, of those that a package brought."""
        self.title, self.version, self.architecture, self.files, self.owners = title, version, sysroot.architecture, files, owners
        self.packages = {package.name: package for package in sorted((*owners.values(), *sysroot.compiled_in()), key=lambda package: package.name)}

    def purl(self, name):
        package = self.packages[name]
        version = package.version.replace(":", "%3A").replace("+", "%2B")
        return f"pkg:deb/debian/{name.replace('+', '%2B')}@{version}?arch={package.architecture}&distro={DISTRIBUTION}"

    def identity(self):
        """A UUID that follows from the contents."""
        total = hashlib.sha256()
        for path in sorted(self.files):
            total.update(path.encode() + b"\0" + hashlib.sha256(self.files[path]).digest())
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.title}@{self.version}#{total.hexdigest()}"))

    def licences(self, package):
        """[(SPDX id or None, Debian's name)]"""
        return [(SPDX_IDS.get(name), name) for name in self.packages[package].licences()]


def cyclonedx(material, time):
    def licences(package):
        return [{"license": {"id": spdx} if spdx else {"name": name}} for spdx, name in material.licences(package)]
    components = []
    for package in material.packages:
        component = {"type": "library", "bom-ref": "package:" + package, "name": package, "version": material.packages[package].version, "purl": material.purl(package)}
        if licences(package):
            component["licenses"] = licences(package)
        places = sorted(path for path, owner in material.owners.items() if owner.name == package)
        if places:
            component["evidence"] = {"occurrences": [{"location": path} for path in places]}
        component["properties"] = [{"name": f"{NAME}:linked", "value": "shared" if places else "compiled in"}]
        components.append(component)
    for path in sorted(material.files):
        components.append({"type": "file", "bom-ref": "file:" + path, "name": path,
                           "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(material.files[path]).hexdigest()}]})
    subject = {"type": "application", "bom-ref": "subject", "name": material.title, "version": material.version,
               "licenses": [{"license": {"id": "Apache-2.0"}}], "purl": f"pkg:generic/{NAME}@{material.version}?arch={material.architecture}"}
    return {"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6",
            "serialNumber": "urn:uuid:" + material.identity(), "version": 1, "metadata": {"timestamp": moment(time), "component": subject},
            "components": components, "dependencies": [{"ref": "subject", "dependsOn": ["package:" + name for name in material.packages]}]}


def reference(name):
    return "LicenseRef-Debian-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def spdx(material, time, repository):
    packages, files, relations, texts = [], [], [], {}
    for package in material.packages:
        identifiers = []
        for known, name in material.licences(package):
            identifiers.append(known or reference(name))
            if not known:
                texts.setdefault(reference(name), (name, package))
        packages.append({"SPDXID": "SPDXRef-Package-" + package.replace("+", "-plus"), "name": package, "versionInfo": material.packages[package].version, "downloadLocation": "NOASSERTION",
                         "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": " AND ".join(sorted(set(identifiers))) or "NOASSERTION",
                         "copyrightText": "NOASSERTION", "supplier": "Organization: Debian",
                         "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": material.purl(package)}]})
        relations.append({"spdxElementId": "SPDXRef-Subject", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": packages[-1]["SPDXID"]})
    for number, path in enumerate(sorted(material.files)):
        data = material.files[path]
        files.append({"SPDXID": f"SPDXRef-File-{number}", "fileName": "./" + path, "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
                      "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
                                    {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}]})
        relations.append({"spdxElementId": "SPDXRef-Subject", "relationshipType": "CONTAINS", "relatedSpdxElement": files[-1]["SPDXID"]})
    subject = {"SPDXID": "SPDXRef-Subject", "name": material.title, "versionInfo": material.version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
               "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION"}
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{material.title}-{material.version}",
            "documentNamespace": f"{repository}/spdx/{material.identity()}", "creationInfo": {"created": moment(time), "creators": [f"Tool: {NAME}-release"]},
            "packages": [subject, *packages], "files": files,
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-Subject"}, *relations],
            "hasExtractedLicensingInfos": [{"licenseId": key, "name": name, "extractedText": f"See the copyright file of Debian's package {package}."}
                                           for key, (name, package) in sorted(texts.items())]}

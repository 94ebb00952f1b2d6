// The tables of opaque parameters. Types, defaults of gates and rules are those of each driver's sources, named in
// `source`; a field that only some releases have is listed, as nobody here knows the release.
#include "pkg/parameters/tables.h"

#include <algorithm>

namespace dra::parameters {
namespace {

using ParamType = ParameterType;

const ParameterFields& mps_fields() {
  static const ParameterFields fields{
      {{.name = "defaultActiveThreadPercentage", .type = ParamType::kNumber, .least = 0, .most = 100},
       {.name = "defaultPinnedDeviceMemoryLimit", .type = ParamType::kQuantity},
       {.name = "defaultPerDevicePinnedMemoryLimit", .type = ParamType::kQuantities},
       {.name = "multiUser", .type = ParamType::kBool}}};
  return fields;
}

// The gates are alpha and off by default.
std::vector<ParameterChoice> sharing_strategies() {
  return {{"TimeSlicing", "TimeSlicingSettings"}, {"MPS", "MPSSupport"}};
}

const ParameterFields& gpu_sharing() {
  static const ParameterFields interval{{{.name = "interval",
                                          .choices = {{"Default", ""}, {"Short", ""}, {"Medium", ""}, {"Long", ""}},
                                          .fallback = "Default"}}};
  static const ParameterFields fields{
      {{.name = "strategy", .required = true, .choices = sharing_strategies(), .fallback = "TimeSlicing"},
       {.name = "timeSlicingConfig", .type = ParamType::kObject, .fields = &interval, .made = true},
       {.name = "mpsConfig", .type = ParamType::kObject, .fields = &mps_fields(), .made = true}},
      {{"MPS", "timeSlicingConfig"}, {"TimeSlicing", "mpsConfig"}}};
  return fields;
}

// A partition has no time slices of its own to set.
const ParameterFields& partition_sharing() {
  static const ParameterFields fields{
      {{.name = "strategy", .required = true, .choices = sharing_strategies(), .fallback = "TimeSlicing"},
       {.name = "mpsConfig", .type = ParamType::kObject, .fields = &mps_fields(), .made = true}}};
  return fields;
}

const ParameterFields& iommu_fields() {
  static const ParameterFields fields{
      {{.name = "backendPolicy", .required = true, .choices = {{"PreferIommuFD", ""}, {"LegacyOnly", ""}}},
       {.name = "enableAPIDevice", .type = ParamType::kBool}}};
  return fields;
}

DriverParameters nvidia() {
  return {{"gpu.nvidia.com", "compute-domain.nvidia.com"},
          "resource.nvidia.com/v1beta1",
          {{"GpuConfig",
            {{{.name = "sharing", .type = ParamType::kObject, .fields = &gpu_sharing(), .made = true}}},
            "",
            "gpu"},
           {"MigDeviceConfig",
            {{{.name = "sharing", .type = ParamType::kObject, .fields = &partition_sharing(), .made = true}}},
            "",
            "mig"},
           {"VfioDeviceConfig",
            {{{.name = "iommu", .type = ParamType::kObject, .fields = &iommu_fields()}}},
            "PassthroughSupport",
            "vfio"},
           {"ComputeDomainChannelConfig", {{{.name = "domainID", .required = true}, {.name = "allocationMode"}}}},
           {"ComputeDomainDaemonConfig", {{{.name = "domainID", .required = true}}}}},
          "github.com/kubernetes-sigs/dra-driver-nvidia-gpu: api/nvidia.com/resource/v1beta1 and the list of its "
          "feature gates"};
}

}  // namespace

const std::vector<DriverParameters>& parameter_tables() {
  static const std::vector<DriverParameters> tables{nvidia()};
  return tables;
}

const DriverParameters* parameters_of(const std::string& driver) {
  for (const DriverParameters& table : parameter_tables())
    if (std::find(table.drivers.begin(), table.drivers.end(), driver) != table.drivers.end()) return &table;
  return nullptr;
}

}  // namespace dra::parameters

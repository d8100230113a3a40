"""nvidia-smi's two outputs, in the layout of its XML schema v13 and of `topo -m`."""

import pytest

from surefoot.asking.commands import Unlearned
from surefoot.machines.probe.nvidia_smi import parse_query, parse_topology

LOG = """<?xml version="1.0" ?>
<nvidia_smi_log>
  <driver_version>590.44.01</driver_version><cuda_version>13.1</cuda_version>
  <gpu id="00000000:61:00.0">
    <product_name>NVIDIA RTX PRO 6000 Blackwell Server Edition</product_name>
    <uuid>GPU-00000000-1111-2222-3333-444444444444</uuid>
    <mig_mode><current_mig>N/A</current_mig></mig_mode>
    <ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>
    <pci><pci_gpu_link_info>
      <pcie_gen><max_link_gen>5</max_link_gen></pcie_gen>
      <link_widths><max_link_width>16x</max_link_width></link_widths>
    </pci_gpu_link_info></pci>
    <fb_memory_usage><total>97887 MiB</total><free>31531 MiB</free></fb_memory_usage>
    <gpu_power_readings><current_power_limit>600.00 W</current_power_limit></gpu_power_readings>
    <processes><process_info><pid>42</pid><process_name>/usr/bin/python3 --api-key secret</process_name>
      <used_memory>65720 MiB</used_memory></process_info></processes>
  </gpu>
  <gpu id="0000000F:01:00.0">
    <product_name>NVIDIA GB10</product_name>
    <fb_memory_usage><total>N/A</total><free>N/A</free></fb_memory_usage>
  </gpu>
</nvidia_smi_log>"""


def test_bytes_are_exact_and_what_is_not_told_is_none() -> None:
    found = parse_query(LOG)
    pro, spark = found["gpus"]
    assert (found["driver"], found["cuda"]) == ("590.44.01", "13.1")
    assert pro["memory_total"] == 102_641_958_912  # 97,887 * 2^20
    assert pro["memory_free"] == 31_531 * 2**20
    assert (pro["pcie_generation"], pro["pcie_width"], pro["power_limit_w"]) == (5, 16, 600.0)
    assert (pro["ecc"], pro["mig"]) == (True, None)
    assert pro["processes"] == [{"pid": 42, "name": "/usr/bin/python3", "memory": 65_720 * 2**20}]
    assert spark["memory_total"] is None
    assert spark["unified_memory"] is True


def test_topology_tells_nvlink_from_pcie() -> None:
    text = (
        "\t\x1b[4mGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
        "GPU0\t X \tNV18\tSYS\t0-47\t0\nGPU1\tNV18\t X \tNODE\t0-47\t0\nGPU2\tSYS\tNODE\t X \t48-95\t1\n"
    )
    links = [(link["a"], link["b"], link["kind"], link["path"]) for link in parse_topology(text)]
    assert links == [(0, 1, "nvlink", "NV18"), (0, 2, "pcie", "SYS"), (1, 2, "pcie", "NODE")]


def test_a_broken_driver_is_unlearned() -> None:
    with pytest.raises(Unlearned, match="no XML"):
        parse_query("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")

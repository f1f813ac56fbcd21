//! Whether a machine is a virtual one, by its files: what is known of a captured machine, and of
//! architectures without CPUID ([`crate::cpuid`]).

use crate::text_file::is_showable;
use crate::{Error, Root, arm_timer, proc_cpuinfo};

/// The names by which firmware of virtual machines calls itself (systemd,
/// `src/basic/virt.c: detect_vm_dmi_vendor`; Azure calls its machines "Virtual Machine").
const VIRTUAL_FIRMWARE: [&str; 16] = [
    "Apple Virtualization",
    "BHYVE",
    "Bochs",
    "Google Compute Engine",
    "Hyper-V",
    "KVM",
    "KubeVirt",
    "Microsoft Corporation Virtual Machine",
    "OpenStack",
    "Parallels",
    "QEMU",
    "VMW",
    "VMware",
    "VirtualBox",
    "Xen",
    "innotek GmbH",
];
/// What a hypervisor without a name is called.
const UNNAMED: &str = "unnamed";

/// Returns the name of the hypervisor that a machine runs on: by the firmware (`QEMU Standard PC
/// (Q35 + ICH9, 2009)`), or `unnamed`. `None` on a bare machine, and where no file tells.
///
/// On x86 the flag `hypervisor` of /proc/cpuinfo decides (bit 31 of ECX in leaf 1 of CPUID; kernel,
/// `arch/x86/include/asm/cpufeatures.h`), elsewhere the firmware's name, the device tree,
/// `/sys/hypervisor/type` (Xen), `/proc/sysinfo` of s390 (`VM00 Control Program`; kernel,
/// `arch/s390/kernel/sysinfo.c`), or the machine of /proc/cpuinfo on POWER.
///
/// # Errors
/// When a file is not text.
pub fn hypervisor(root: &Root) -> Result<Option<String>, Error> {
    let firmware = firmware(root)?;
    let cpuinfo = proc_cpuinfo::start(root)?.unwrap_or_default();
    if let Some(flags) = cpuinfo.get("flags") {
        let is_virtual = flags.split(' ').any(|flag| flag == "hypervisor");
        return Ok(is_virtual.then(|| firmware.unwrap_or_else(|| UNNAMED.to_owned())));
    }
    if let Some(firmware) = firmware.filter(|name| is_virtual(name)) {
        return Ok(Some(firmware));
    }
    let named = [device_tree, xen, control_program];
    if let Some(name) = named.iter().find_map(|read| read(root).transpose()) {
        return name.map(Some);
    }
    let machine = cpuinfo.get("machine");
    let emulator = machine.filter(|it| it.contains("emulated by qemu"));
    Ok(emulator.map(|_| "QEMU".to_owned()))
}

/// Whether the processor is emulated in software, so that no figure means anything: known where
/// there is no CPUID, but QEMU. `None` where nothing tells.
///
/// # Errors
/// When a file is not text.
pub fn emulated(root: &Root, hypervisor: Option<&str>) -> Result<Option<bool>, Error> {
    if !hypervisor.is_some_and(|name| name.contains("QEMU")) {
        return Ok(None);
    }
    let cpuinfo = proc_cpuinfo::start(root)?.unwrap_or_default();
    let is = |key: &str, value: &str| cpuinfo.get(key).is_some_and(|it| it == value);
    // Its own processor, which it does not have under KVM (QEMU, `target/arm/tcg/cpu64.c`,
    // `aarch64_max_tcg_initfn`: implementer 0, part 'Q').
    let is_its_own = is("cpu implementer", "0x00") && is("cpu part", "0x051");
    let has_its_clock = || root.is_live() && arm_timer::hertz() == Some(EMULATED_HERTZ);
    Ok((is_its_own || has_its_clock()).then_some(true))
}

/// The rate of the timer of the Arm processors that QEMU emulates, where the processor's own manual
/// says none (QEMU, `target/arm/internals.h`, `GTIMER_BACKCOMPAT_HZ`). Under KVM it is the host's.
const EMULATED_HERTZ: u64 = 62_500_000;

fn is_virtual(firmware: &str) -> bool {
    // Amazon's bare machines have the vendor of its virtual ones, and types such as `c7g.metal`.
    let is_amazon = firmware.starts_with("Amazon EC2") && !firmware.contains(".metal");
    is_amazon || VIRTUAL_FIRMWARE.iter().any(|it| firmware.contains(it))
}

/// The hypervisor in the device tree that a machine without ACPI boots with (`linux,kvm`,
/// `xen,xen-4.17`), or the machine that QEMU and others make up (`linux,dummy-virt`).
fn device_tree(root: &Root) -> Result<Option<String>, Error> {
    const TREE: &str = "sys/firmware/devicetree/base";
    let read = |name: &str| {
        let file = root.read_optional(&format!("{TREE}/{name}"))?;
        Ok::<_, Error>(file.map(|file| file.text().trim().to_owned()))
    };
    let hypervisor = read("hypervisor/compatible")?;
    let machine = read("compatible")?;
    let is_made_up = |it: &String| it.starts_with("linux,dummy-virt") || it.starts_with("qemu,");
    let Some(name) = hypervisor.or_else(|| machine.filter(is_made_up)) else {
        return Ok(None);
    };
    // QEMU's way to hand files to firmware (kernel, `drivers/firmware/qemu_fw_cfg.c`).
    let entries = root.entries(TREE)?.unwrap_or_default();
    let is_qemu = entries.iter().any(|entry| entry.starts_with("fw-cfg@"));
    let name = match is_qemu {
        true => format!("QEMU {name}"),
        false => name,
    };
    Ok(Some(name).filter(|name| is_showable(name)))
}

/// `xen`, as Xen's own domains have it (kernel, `Documentation/ABI/stable/sysfs-hypervisor-xen`).
fn xen(root: &Root) -> Result<Option<String>, Error> {
    let file = root.read_optional("sys/hypervisor/type")?;
    let name = file.map(|file| file.text().trim().to_owned());
    Ok(name.filter(|name| is_showable(name)))
}

/// Vendor and product, each once.
fn firmware(root: &Root) -> Result<Option<String>, Error> {
    let read = |name: &str| {
        let file = root.read_optional(&format!("sys/class/dmi/id/{name}"))?;
        let text = file.map_or(String::new(), |file| file.text().trim().to_owned());
        Ok::<_, Error>(text)
    };
    let (vendor, product) = (read("sys_vendor")?, read("product_name")?);
    let name = match product.starts_with(&vendor) {
        true => product,
        false => format!("{vendor} {product}").trim_end().to_owned(),
    };
    Ok(Some(name).filter(|name| is_showable(name)))
}

/// `VM00 Control Program: z/VM    7.2.0`, where s390 says so.
fn control_program(root: &Root) -> Result<Option<String>, Error> {
    let file = root.read_optional("proc/sysinfo")?;
    let text = file.as_ref().map_or("", |file| file.text());
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let program = lines.find(|(key, _)| key.trim() == "VM00 Control Program");
    let words = program.map(|(_, value)| value.split_whitespace().collect::<Vec<_>>().join(" "));
    Ok(words.filter(|name| is_showable(name)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(files: &[(&str, &str)], expected: Option<&str>) {
        let directory = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let root = Root::at(directory.path()).unwrap();
        let found = hypervisor(&root).unwrap();
        assert_eq!(found.as_deref(), expected, "{files:?}");
    }

    const VENDOR: &str = "sys/class/dmi/id/sys_vendor";
    const PRODUCT: &str = "sys/class/dmi/id/product_name";
    const CPUINFO: &str = "proc/cpuinfo";
    const XEN: &str = "sys/hypervisor/type";
    const MACHINE: &str = "sys/firmware/devicetree/base/compatible";
    const HYPERVISOR: &str = "sys/firmware/devicetree/base/hypervisor/compatible";
    const QEMU: &str = "sys/firmware/devicetree/base/fw-cfg@9020000/compatible";

    #[test]
    fn the_flag_of_the_processor_decides_and_the_firmware_names() {
        let guest = "processor\t: 0\nflags\t\t: fpu sse2 hypervisor lahf_lm\n";
        let bare = "processor\t: 0\nflags\t\t: fpu sse2\nbugs\t\t: hypervisor\n";
        check(&[(CPUINFO, guest)], Some("unnamed"));
        let qemu = [(VENDOR, "QEMU\n"), (PRODUCT, "QEMU Virtual Machine\n")];
        let with = |cpuinfo| [qemu[0], qemu[1], (CPUINFO, cpuinfo)];
        check(&with(guest), Some("QEMU Virtual Machine"));
        check(&with(bare), None);
        let amazon = [(VENDOR, "Amazon EC2\n"), (PRODUCT, "m5.metal\n")];
        check(&[amazon[0], amazon[1], (CPUINFO, bare)], None);
        let hostile = [(CPUINFO, guest), (VENDOR, "\u{1b}[2J")];
        check(&hostile, Some("unnamed"));
    }

    #[test]
    fn machines_without_that_flag_are_told_by_other_files() {
        let arm = (CPUINFO, "processor\t: 0\nFeatures\t: fp asimd\n");
        check(&[arm], None);
        check(&[], None);
        check(&[arm, (VENDOR, "QEMU\n"), (PRODUCT, "\n")], Some("QEMU"));
        check(
            &[arm, (VENDOR, "HPE\n"), (PRODUCT, "ProLiant RL300\n")],
            None,
        );
        check(
            &[arm, (VENDOR, "Amazon EC2\n"), (PRODUCT, "c7g.4xlarge\n")],
            Some("Amazon EC2 c7g.4xlarge"),
        );
        check(
            &[arm, (VENDOR, "Amazon EC2\n"), (PRODUCT, "c7g.metal\n")],
            None,
        );
        let azure = [
            (VENDOR, "Microsoft Corporation\n"),
            (PRODUCT, "Virtual Machine\n"),
        ];
        check(
            &[arm, azure[0], azure[1]],
            Some("Microsoft Corporation Virtual Machine"),
        );
        check(&[arm, (XEN, "xen\n")], Some("xen"));
        let mainframe = "Manufacturer:         IBM\nVM00 Name:            LINUX1  \n\
                         VM00 Control Program: z/VM    7.2.0\n";
        check(&[("proc/sysinfo", mainframe)], Some("z/VM 7.2.0"));
        let power = "processor\t: 0\ncpu\t\t: POWER9\nmachine\t\t: CHRP IBM pSeries \
                     (emulated by qemu)\n";
        check(&[(CPUINFO, power)], Some("QEMU"));
    }

    #[test]
    fn a_device_tree_names_the_hypervisor_or_the_machine_that_it_makes_up() {
        let machine = (MACHINE, "linux,dummy-virt\0");
        let qemu = (QEMU, "qemu,fw-cfg-mmio\0");
        check(&[machine], Some("linux,dummy-virt"));
        check(&[machine, qemu], Some("QEMU linux,dummy-virt"));
        check(
            &[(HYPERVISOR, "xen,xen-4.17\0xen,xen\0")],
            Some("xen,xen-4.17"),
        );
        check(&[(MACHINE, "raspberrypi,4-model-b\0brcm,bcm2711\0")], None);
        check(&[(MACHINE, "\u{1b}[2J")], None);
    }

    #[test]
    fn the_processor_that_qemu_made_up_is_emulated_and_no_other() {
        let check = |implementer: &str, part: &str, hypervisor, expected| {
            let cpuinfo = format!("CPU implementer\t: {implementer}\nCPU part\t: {part}\n");
            let directory = tempfile::tempdir().unwrap();
            fs::create_dir(directory.path().join("proc")).unwrap();
            fs::write(directory.path().join(CPUINFO), cpuinfo).unwrap();
            let root = Root::at(directory.path()).unwrap();
            assert_eq!(emulated(&root, hypervisor).unwrap(), expected);
        };
        check("0x00", "0x051", Some("QEMU linux,dummy-virt"), Some(true));
        check("0x41", "0xd0c", Some("QEMU KVM Virtual Machine"), None);
        check("0x00", "0x051", None, None);
    }
}

//! Whether a machine is a virtual one, by its files: what is known of a captured machine, and of
//! architectures without CPUID ([`crate::cpuid`]).

use crate::text_file::is_showable;
use crate::{Error, Root, proc_cpuinfo};

/// The names by which firmware of virtual machines calls itself (systemd,
/// `src/basic/virt.c: detect_vm_dmi_vendor`). Amazon's is that of its bare machines, too.
const VIRTUAL_FIRMWARE: [&str; 15] = [
    "Apple Virtualization",
    "BHYVE",
    "Bochs",
    "Google Compute Engine",
    "Hyper-V",
    "KVM",
    "KubeVirt",
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
/// `arch/x86/include/asm/cpufeatures.h`), elsewhere the firmware's name, `/proc/sysinfo` of s390
/// (`VM00 Control Program`; kernel, `arch/s390/kernel/sysinfo.c`), or the machine of
/// /proc/cpuinfo on POWER.
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
    let is_virtual = |name: &String| VIRTUAL_FIRMWARE.iter().any(|it| name.contains(it));
    if let Some(firmware) = firmware.filter(is_virtual) {
        return Ok(Some(firmware));
    }
    if let Some(program) = control_program(root)? {
        return Ok(Some(program));
    }
    let machine = cpuinfo.get("machine");
    let emulator = machine.filter(|it| it.contains("emulated by qemu"));
    Ok(emulator.map(|_| "QEMU".to_owned()))
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
        let mainframe = "Manufacturer:         IBM\nVM00 Name:            LINUX1  \n\
                         VM00 Control Program: z/VM    7.2.0\n";
        check(&[("proc/sysinfo", mainframe)], Some("z/VM 7.2.0"));
        let power = "processor\t: 0\ncpu\t\t: POWER9\nmachine\t\t: CHRP IBM pSeries \
                     (emulated by qemu)\n";
        check(&[(CPUINFO, power)], Some("QEMU"));
    }
}

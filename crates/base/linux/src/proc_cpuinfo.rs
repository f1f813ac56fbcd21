//! `/proc/cpuinfo` (`proc_cpuinfo(5)`): the name of the processor, and what else it says of the
//! first one. What it says of all is also in /sys, in a form that does not depend on the
//! architecture.

use std::collections::BTreeMap;

use crate::arm_processors;
use crate::text_file::is_showable;
use crate::{Error, Root};

/// Enough for the first CPU: an entry has about 1.5 KiB.
const START_BYTES: u64 = 16 << 10;

/// The keys under which architectures write the name, the best first: x86, Itanium, LoongArch and
/// Arm; MIPS and Alpha; POWER and SPARC; RISC-V.
const NAME_KEYS: [&str; 4] = ["model name", "cpu model", "cpu", "uarch"];

/// The name of the first processor that has one, with runs of spaces collapsed; `None` where the
/// file neither gives a name nor enough facts to derive one.
///
/// # Errors
/// When the file is not text.
pub fn processor_name(root: &Root) -> Result<Option<String>, Error> {
    let file = root.read_start("proc/cpuinfo", START_BYTES)?;
    Ok(file.and_then(|file| name(file.text())))
}

/// Returns what the file says of the machine and of its first processor, by lower-case key.
pub(crate) fn start(root: &Root) -> Result<Option<BTreeMap<String, String>>, Error> {
    let file = root.read_start("proc/cpuinfo", START_BYTES)?;
    Ok(file.map(|file| facts(file.text())))
}

fn name(text: &str) -> Option<String> {
    let facts = facts(text);
    let fact = |key: &str| facts.get(key).cloned();
    let named = NAME_KEYS.iter().find_map(|key| fact(key));
    named
        .or_else(|| arm(&facts))
        .or_else(|| mainframe(&facts))
        .or_else(|| itanium(&facts))
        .or_else(|| fact("isa").map(|isa| format!("RISC-V {}", base_isa(&isa))))
        // Arm before Linux 3.8: one line for all CPUs, beside numbered lines "processor".
        .or_else(|| fact("processor"))
        .filter(|name| is_showable(name))
}

/// The first value of each key, ignoring processor numbers. Keys vary in case: `Model Name`.
fn facts(text: &str) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
        let key = key.trim_end().to_ascii_lowercase();
        let value: Vec<&str> = value.split_whitespace().collect();
        let value = value.join(" ");
        let is_number = key == "processor" && value.parse::<u32>().is_ok();
        if !value.is_empty() && !is_number {
            facts.entry(key).or_insert(value);
        }
    }
    facts
}

/// Arm, which gives no name: `CPU implementer : 0x41`, `CPU part : 0xd0c` (kernel,
/// `arch/arm64/kernel/cpuinfo.c`).
fn arm(facts: &BTreeMap<String, String>) -> Option<String> {
    let (implementer, part) = (facts.get("cpu implementer")?, facts.get("cpu part")?);
    let code = |text: &str| u32::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let known = code(implementer).zip(code(part));
    let known = known.and_then(|(implementer, part)| arm_processors::name(implementer, part));
    let codes = format!("implementer {implementer}, part {part}");
    Some(match known {
        Some(name) => format!("{name} ({codes})"),
        None => format!("Arm processor ({codes})"),
    })
}

/// s390: `vendor_id : IBM/S390` and, in the lines of each processor, `machine = 3931` (kernel,
/// `arch/s390/kernel/processor.c`).
fn mainframe(facts: &BTreeMap<String, String>) -> Option<String> {
    let vendor = facts
        .get("vendor_id")
        .filter(|vendor| *vendor == "IBM/S390")?;
    let processor = facts.get("processor 0").or_else(|| {
        let mut processors = facts.iter();
        processors.find_map(|(key, value)| key.starts_with("processor ").then_some(value))
    });
    let machine = processor.and_then(|line| line.split_once("machine = "));
    Some(match machine {
        Some((_, machine)) => format!("{vendor}, machine type {machine}"),
        None => vendor.clone(),
    })
}

/// Itanium before Linux 2.6.18: `family : 32`, `model : 1` (kernel, `arch/ia64/kernel/setup.c`).
fn itanium(facts: &BTreeMap<String, String>) -> Option<String> {
    let arch = facts.get("arch").filter(|arch| *arch == "IA-64")?;
    let parts = [("vendor", ""), ("family", "family "), ("model", "model ")];
    let parts = parts.map(|(key, word)| facts.get(key).map(|value| format!("{word}{value}")));
    let [vendor, family, model] = parts;
    let name = vendor.map_or(arch.clone(), |vendor| format!("{vendor} {arch}"));
    let parts: Vec<String> = [Some(name), family, model].into_iter().flatten().collect();
    Some(parts.join(", "))
}

/// `rv64imafdc` of `rv64imafdc_zicntr_zicsr_zifencei`.
fn base_isa(isa: &str) -> &str {
    isa.split('_').next().unwrap_or(isa)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(name(text).unwrap_or_default(), expected, "{text}");
    }

    // Every text below is written by hand in the kernel's format.

    #[test]
    fn a_name_is_found_under_the_key_of_its_architecture() {
        // arch/x86/kernel/cpu/proc.c
        check(
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 47\n\
             model name\t: Intel(R) Xeon(R) CPU E7- 4850  @ 2.00GHz\nstepping\t: 2\n",
            "Intel(R) Xeon(R) CPU E7- 4850 @ 2.00GHz",
        );
        // arch/powerpc/kernel/setup-common.c
        check(
            "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 2166.000000MHz\n\
             revision\t: 2.2 (pvr 004e 1202)\n\ntimebase\t: 512000000\nplatform\t: PowerNV\n",
            "POWER9, altivec supported",
        );
        // arch/sparc/kernel/cpu.c
        check(
            "cpu\t\t: UltraSparc T2 (Niagara2)\nfpu\t\t: UltraSparc T2 integrated FPU\n\
             type\t\t: sun4v\nncpus probed\t: 64\nCPU0ClkTck\t: 0000000049a29cbd\n",
            "UltraSparc T2 (Niagara2)",
        );
        // arch/riscv/kernel/cpu.c
        check(
            "processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nmmu\t\t: sv39\n\
             uarch\t\t: sifive,u74-mc\n",
            "sifive,u74-mc",
        );
        // arch/arm/kernel/setup.c, before and after Linux 3.8
        check(
            "Processor\t: ARMv7 Processor rev 1 (v7l)\nprocessor\t: 0\nBogoMIPS\t: 1595.80\n",
            "ARMv7 Processor rev 1 (v7l)",
        );
        check(
            "processor\t: 0\nmodel name\t: ARMv7 Processor rev 4 (v7l)\nBogoMIPS\t: 38.40\n\
             CPU implementer\t: 0x41\nCPU part\t: 0xd03\n",
            "ARMv7 Processor rev 4 (v7l)",
        );
        // arch/loongarch/kernel/proc.c
        check(
            "system type\t\t: generic-loongson-machine\n\nprocessor\t\t: 0\npackage\t\t\t: 0\n\
             core\t\t\t: 0\nCPU Family\t\t: Loongson-64bit\n\
             Model Name\t\t: Loongson-3C5000\nCPU Revision\t\t: 0x10\n",
            "Loongson-3C5000",
        );
        // arch/ia64/kernel/setup.c
        check(
            "processor  : 0\nvendor     : GenuineIntel\narch       : IA-64\nfamily     : 32\n\
             model      : 1\nmodel name : Dual-Core Intel(R) Itanium(R) Processor 9140N\n",
            "Dual-Core Intel(R) Itanium(R) Processor 9140N",
        );
        // arch/mips/kernel/proc.c
        check(
            "system type\t\t: generic\nmachine\t\t\t: Unknown\nprocessor\t\t: 0\n\
             cpu model\t\t: ICT Loongson-3 V0.13  FPU V0.1\n",
            "ICT Loongson-3 V0.13 FPU V0.1",
        );
    }

    #[test]
    fn processors_without_a_name_are_named_by_what_is_said_of_them() {
        // arch/s390/kernel/processor.c
        check(
            "vendor_id       : IBM/S390\n# processors    : 2\nbogomips per cpu: 3033.00\n\
             features\t: esan3 zarch stfle \ncache0          : level=1 type=Data scope=Private\n\
             processor 0: version = FF,  identification = 12D687,  machine = 2964\n\
             processor 1: version = FF,  identification = 12D687,  machine = 2964\n",
            "IBM/S390, machine type 2964",
        );
        check(
            "vendor_id       : IBM/S390\n# processors    : 2\n",
            "IBM/S390",
        );
        // arch/arm64/kernel/cpuinfo.c
        let arm64 = |implementer: &str, part: &str| {
            format!(
                "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm\n\
                 CPU implementer\t: {implementer}\nCPU architecture: 8\nCPU variant\t: 0x3\n\
                 CPU part\t: {part}\nCPU revision\t: 1\n"
            )
        };
        check(
            &arm64("0x41", "0xd0c"),
            "Arm Neoverse-N1 (implementer 0x41, part 0xd0c)",
        );
        check(
            &arm64("0x48", "0xfff"),
            "HiSilicon processor (implementer 0x48, part 0xfff)",
        );
        check(
            &arm64("0x77", "?"),
            "Arm processor (implementer 0x77, part ?)",
        );
        // arch/riscv/kernel/cpu.c
        check(
            "processor\t: 0\nhart\t\t: 0\nisa\t\t: rv64imafdch_zicbom_sstc\nmmu\t\t: sv57\n",
            "RISC-V rv64imafdch",
        );
        // arch/ia64/kernel/setup.c
        check(
            "processor  : 0\nvendor     : GenuineIntel\narch       : IA-64\nfamily     : 32\n\
             model      : 1\nrevision   : 1\n",
            "GenuineIntel IA-64, family 32, model 1",
        );
    }

    #[test]
    fn a_file_without_a_name_gives_none() {
        for text in [
            "",
            "\n\n",
            "processor\t: 0\nprocessor\t: 1\n",
            "model name\t:\n",
            "model name\t: \u{1b}[2J\n",
            "vendor_id\t: GenuineIntel\n",
        ] {
            check(text, "");
        }
    }

    proptest! {

        #[test]
        fn no_text_like_cpuinfo_panics(
            lines in prop::collection::vec(
                "(processor( 0)?|vendor(_id)?|arch|family|cpu( part| implementer)?|isa) ?: \
                 (IBM/S390|IA-64|0x[0-9a-g]{0,9}|_|machine = |\\PC{0,5})",
                0..8,
            )
        ) {
            let _ = name(&lines.join("\n"));
        }
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("\\PC*", &|text| {
            let _ = name(text);
        });
    }
}

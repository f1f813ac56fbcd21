//! `/proc/interrupts`: how often each CPU has handled each interrupt since boot (proc(5)).

use std::collections::BTreeMap;

use model::{CpuId, CpuSet};

use crate::{Error, Root, TextFile};

/// Counts by CPU, of each interrupt with a number.
pub type Interrupts = BTreeMap<u32, BTreeMap<CpuId, u64>>;

/// Reads them; empty where there is no such file.
///
/// # Errors
/// When the file is malformed.
pub fn read(root: &Root) -> Result<Interrupts, Error> {
    let file = root.read_optional("proc/interrupts")?;
    file.map_or(Ok(Interrupts::new()), |file| parse(&file))
}

/// The CPUs to which the kernel sends an interrupt: the effective ones (Linux 4.15), else those
/// that it may choose from (kernel, core-api/irq/irq-affinity.rst). `None` where neither is known.
///
/// # Errors
/// When the file is malformed.
pub fn affinity(root: &Root, interrupt: u32) -> Result<Option<CpuSet>, Error> {
    for name in ["effective_affinity_list", "smp_affinity_list"] {
        let path = format!("proc/irq/{interrupt}/{name}");
        let Some(file) = root.read_optional(&path)? else {
            continue;
        };
        let text = file.text().trim();
        let cpus = text.parse::<CpuSet>();
        let cpus = cpus.map_err(|_| file.malformed(1, "a list of CPUs", text))?;
        if !cpus.is_empty() {
            return Ok(Some(cpus));
        }
    }
    Ok(None)
}

fn parse(file: &TextFile) -> Result<Interrupts, Error> {
    let mut lines = file.lines();
    //            CPU0       CPU1
    //  36:          0   18022816  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
    // NMI:          0          0   Non-maskable interrupts
    let (number, head) = lines.next().unwrap_or((1, ""));
    let cpu = |word: &str| {
        let id = word.strip_prefix("CPU").and_then(|id| id.parse().ok());
        id.map(CpuId)
            .ok_or_else(|| file.malformed(number, "a CPU", word))
    };
    let words = head.split_ascii_whitespace();
    let cpus: Vec<CpuId> = words.map(cpu).collect::<Result<_, _>>()?;
    let mut interrupts = Interrupts::new();
    for (number, line) in lines {
        let Some((name, rest)) = line.split_once(':') else {
            continue;
        };
        let Ok(interrupt) = name.trim().parse::<u32>() else {
            continue;
        };
        let mut words = rest.split_ascii_whitespace();
        let counts = interrupts.entry(interrupt).or_default();
        for cpu in &cpus {
            let word = words.next().unwrap_or("");
            let count = word.parse::<u64>();
            let count = count.map_err(|_| file.malformed(number, "a count", word))?;
            counts.insert(*cpu, count);
        }
    }
    Ok(interrupts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn interrupts_with_a_number_are_counted_by_cpu() {
        let of = |text: &str| parse(&TextFile::new("/interrupts", text));
        let text = "           CPU0       CPU2       \n 36:          1   18022816 \
                    PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n\
                    NMI:          0          0   Non-maskable\nERR:          0\n";
        let counts = [(CpuId(0), 1), (CpuId(2), 18_022_816)].into();
        assert_eq!(of(text).unwrap(), [(36, counts)].into());
        assert!(of("").unwrap().is_empty());
        assert!(of("CPU0 x\n").is_err());
        assert!(of("CPU0 CPU1\n 1: 2 PCI\n").is_err());
    }

    #[test]
    fn the_effective_cpus_of_an_interrupt_go_before_those_that_it_may_have() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path()).unwrap();
        let affinity = || affinity(&root, 36).map(|cpus| cpus.map(|it| it.to_string()));
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(folder.path().join("proc/irq/36")).unwrap();
            std::fs::write(folder.path().join("proc/irq/36").join(name), text).unwrap();
        };
        assert_eq!(affinity().unwrap(), None);
        write("smp_affinity_list", "0-7\n");
        write("effective_affinity_list", "\n");
        assert_eq!(affinity().unwrap().as_deref(), Some("0-7"));
        write("effective_affinity_list", "3\n");
        assert_eq!(affinity().unwrap().as_deref(), Some("3"));
        write("effective_affinity_list", "x\n");
        affinity().unwrap_err();
    }

    #[test]
    fn interrupts_of_this_machine_are_read() {
        for counts in read(&Root::live()).unwrap().values() {
            assert!(!counts.is_empty());
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(
            head in "(CPU[0-9]{1,12} ?){0,3}\n?",
            lines in "([0-9a-z]{0,3}:?( [0-9x]{0,21}){0,4}\n){0,4}",
        ) {
            let text = head + &lines;
            let _ = parse(&TextFile::new("/interrupts", &text));
        }
    }
}

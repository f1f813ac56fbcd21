//! Names of Arm processors, which report only numbers: the implementer of the core and its part
//! number (Arm Architecture Reference Manual, `MIDR_EL1`; kernel,
//! `arch/arm64/include/asm/cputype.h`).

/// Implementers of cores.
const IMPLEMENTERS: &[(u32, &str)] = &[
    (0x41, "Arm"),
    (0x42, "Broadcom"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x50, "APM"),
    (0x51, "Qualcomm"),
    (0x53, "Samsung"),
    (0x56, "Marvell"),
    (0x61, "Apple"),
    (0x6d, "Microsoft"),
    (0x70, "Phytium"),
    (0xc0, "Ampere"),
];

/// Cores of servers and of common development boards.
const PARTS: &[(u32, u32, &str)] = &[
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x42, 0x516, "Vulcan"),
    (0x43, 0x0a1, "ThunderX"),
    (0x43, 0x0af, "ThunderX2"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xd01, "TaiShan v110"),
    (0x4e, 0x004, "Carmel"),
    (0x50, 0x000, "X-Gene"),
    (0x51, 0xc00, "Falkor"),
    (0x6d, 0xd49, "Azure Cobalt 100"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1A"),
];

/// `Arm Neoverse-N1`; `HiSilicon processor` for a part that is not in the table; `None` for an
/// unknown implementer.
pub(crate) fn name(implementer: u32, part: u32) -> Option<String> {
    let (_, maker) = IMPLEMENTERS.iter().find(|(code, _)| *code == implementer)?;
    let mut parts = PARTS.iter();
    let core = parts.find(|(by, code, _)| (*by, *code) == (implementer, part));
    Some(format!(
        "{maker} {}",
        core.map_or("processor", |(_, _, name)| name)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_named_by_maker_and_number() {
        assert_eq!(name(0x46, 1).as_deref(), Some("Fujitsu A64FX"));
        assert_eq!(name(0xc0, 1).as_deref(), Some("Ampere processor"));
        assert_eq!(name(0, 1), None);
    }

    #[test]
    fn every_core_has_a_maker() {
        for (implementer, part, core) in PARTS {
            let expected = format!(" {core}");
            assert!(name(*implementer, *part).unwrap().ends_with(&expected));
        }
    }
}

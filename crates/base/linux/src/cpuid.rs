//! CPUID: whether a hypervisor or an emulator runs this machine. Exists only on x86.

/// What CPUID reports about the hypervisor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Virtualisation {
    /// Signature in leaf 0x40000000 (`KVMKVMKVM`, `TCGTCGTCGTCG`); `None` on bare metal, and where
    /// there is no CPUID.
    pub hypervisor: Option<String>,
    /// Whether the processor itself is emulated; `None` where there is no CPUID.
    pub emulated: Option<bool>,
}

/// The signature of QEMU's software emulation (QEMU, `target/i386/cpu.c`).
const EMULATOR_SIGNATURE: &[u8; 12] = b"TCGTCGTCGTCG";

/// Reads CPUID.
#[cfg(target_arch = "x86_64")]
pub fn virtualisation() -> Virtualisation {
    let cpuid = raw_cpuid::CpuId::new();
    // Leaf 1, ECX bit 31: reserved for hypervisors to announce themselves.
    let under_hypervisor = cpuid
        .get_feature_info()
        .is_some_and(|info| info.has_hypervisor());
    if !under_hypervisor {
        return Virtualisation {
            hypervisor: None,
            emulated: Some(false),
        };
    }
    let leaf = raw_cpuid::cpuid!(0x4000_0000);
    of_signature([leaf.ebx, leaf.ecx, leaf.edx])
}

/// There is no CPUID on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub fn virtualisation() -> Virtualisation {
    Virtualisation::default()
}

#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
fn of_signature(registers: [u32; 3]) -> Virtualisation {
    let bytes: Vec<u8> = registers
        .iter()
        .flat_map(|register| register.to_le_bytes())
        .collect();
    let printable = |byte: &&u8| byte.is_ascii_graphic() || **byte == b' ';
    let text: String = bytes
        .iter()
        .filter(printable)
        .map(|byte| char::from(*byte))
        .collect();
    let name = if text.trim().is_empty() {
        "unnamed"
    } else {
        text.trim()
    };
    Virtualisation {
        emulated: Some(bytes == EMULATOR_SIGNATURE),
        hypervisor: Some(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(signature: &[u8; 12], hypervisor: &str, emulated: bool) {
        let register =
            |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|offset| signature[at + offset]));
        let expected = Virtualisation {
            hypervisor: Some(hypervisor.to_owned()),
            emulated: Some(emulated),
        };
        assert_eq!(
            of_signature([register(0), register(4), register(8)]),
            expected
        );
    }

    #[test]
    fn signatures_tell_emulators_from_hypervisors() {
        check(b"KVMKVMKVM\0\0\0", "KVMKVMKVM", false);
        check(b"TCGTCGTCGTCG", "TCGTCGTCGTCG", true);
        check(b"Microsoft Hv", "Microsoft Hv", false);
        check(b"VMwareVMware", "VMwareVMware", false);
        check(&[0; 12], "unnamed", false);
    }

    #[test]
    fn this_machine_answers() {
        assert_eq!(
            virtualisation().emulated.is_some(),
            cfg!(target_arch = "x86_64")
        );
    }
}

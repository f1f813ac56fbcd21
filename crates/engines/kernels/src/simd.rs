//! Which vector instructions the streams are made of; chosen when the program runs.

use model::StreamKernel;

#[cfg(target_arch = "aarch64")]
use crate::stream_neon;
use crate::stream_path::StreamFunctions;
use crate::stream_portable;
#[cfg(target_arch = "x86_64")]
use crate::{stream_avx2, stream_avx512, stream_sse2};

/// A set of vector instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Simd {
    /// Whatever the compiler makes of plain loops.
    Portable,
    /// 128 bits; every x86-64 has it.
    Sse2,
    /// 256 bits.
    Avx2,
    /// 512 bits (AVX-512F).
    Avx512,
    /// 128 bits; every arm64 under Linux has it.
    Neon,
}

impl Simd {
    /// Every set with its name, the narrowest first.
    pub const TABLE: [(Simd, &'static str); 5] = [
        (Simd::Portable, "portable"),
        (Simd::Sse2, "sse2"),
        (Simd::Avx2, "avx2"),
        (Simd::Avx512, "avx512"),
        (Simd::Neon, "neon"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let row = Self::TABLE.iter().find(|(simd, _)| *simd == self);
        row.expect("the table has a row for every variant").1
    }

    /// The sets that this processor has, the narrowest first.
    pub fn available() -> Vec<Simd> {
        let all = Self::TABLE.iter().map(|(simd, _)| *simd);
        all.filter(|simd| simd.is_available()).collect()
    }

    /// The widest set that this processor has.
    pub fn best() -> Simd {
        *Self::available().last().expect("plain loops always run")
    }

    /// Whether this processor has it.
    pub fn is_available(self) -> bool {
        match self {
            Simd::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Simd::Sse2 => true,
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => std::arch::is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "aarch64")]
            Simd::Neon => true,
            _ => false,
        }
    }

    /// Whether it can write past the caches.
    pub fn has_non_temporal_stores(self) -> bool {
        self != Simd::Portable
    }

    /// Whether it can run this kernel as its name says.
    pub fn can_run(self, kernel: StreamKernel) -> bool {
        self.is_available() && (self.has_non_temporal_stores() || !kernel.facts().is_non_temporal)
    }

    /// The loops. Calling one is safe only where [`Simd::is_available`].
    pub(crate) fn functions(self) -> &'static StreamFunctions {
        match self {
            #[cfg(target_arch = "x86_64")]
            Simd::Sse2 => &stream_sse2::FUNCTIONS,
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => &stream_avx2::FUNCTIONS,
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => &stream_avx512::FUNCTIONS,
            #[cfg(target_arch = "aarch64")]
            Simd::Neon => &stream_neon::FUNCTIONS,
            _ => &stream_portable::FUNCTIONS,
        }
    }
}

#[cfg(test)]
mod tests {
    use model::StreamKernel;

    use super::Simd;

    #[test]
    fn the_best_set_is_one_that_the_processor_has() {
        assert!(Simd::best().is_available());
        assert!(Simd::available().contains(&Simd::Portable));
        let names: std::collections::BTreeSet<&str> =
            Simd::TABLE.iter().map(|(simd, _)| simd.name()).collect();
        assert_eq!(names.len(), Simd::TABLE.len());
    }

    #[test]
    fn plain_loops_do_not_claim_to_pass_the_caches() {
        assert!(Simd::Portable.can_run(StreamKernel::Copy));
        assert!(!Simd::Portable.can_run(StreamKernel::NtCopy));
    }
}

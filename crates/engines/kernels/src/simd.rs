//! Vector instruction sets of the streams, chosen at run time.

use model::StreamKernel;

#[cfg(target_arch = "aarch64")]
use crate::stream_neon;
use crate::stream_path::{StreamFunctions, portable};
#[cfg(target_arch = "x86_64")]
use crate::{stream_avx2, stream_avx512, stream_sse2};

/// A vector instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Simd {
    /// Plain loops, vectorized by the compiler.
    Portable,
    /// 128 bits; available on every x86-64.
    Sse2,
    /// 256 bits.
    Avx2,
    /// 512 bits (AVX-512F).
    Avx512,
    /// 128 bits; available on every arm64 under Linux.
    Neon,
}

impl Simd {
    /// All sets with their names, narrowest first.
    pub const TABLE: [(Simd, &'static str); 5] = [
        (Simd::Portable, "portable"),
        (Simd::Sse2, "sse2"),
        (Simd::Avx2, "avx2"),
        (Simd::Avx512, "avx512"),
        (Simd::Neon, "neon"),
    ];

    /// Returns the name of the set.
    pub fn name(self) -> &'static str {
        let row = Self::TABLE.iter().find(|(simd, _)| *simd == self);
        row.expect("the table has a row for every variant").1
    }

    /// Returns the sets this processor supports, narrowest first.
    pub fn available() -> Vec<Simd> {
        let all = Self::TABLE.iter().map(|(simd, _)| *simd);
        all.filter(|simd| simd.is_available()).collect()
    }

    /// Returns the widest set this processor supports.
    pub fn best() -> Simd {
        *Self::available().last().expect("plain loops always run")
    }

    /// Returns whether this processor supports the set.
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

    /// Returns whether the set has stores that bypass the caches.
    pub(crate) fn has_non_temporal_stores(self) -> bool {
        self != Simd::Portable
    }

    /// Returns whether the set can run this kernel, with non-temporal stores if the kernel requires
    /// them.
    pub fn can_run(self, kernel: StreamKernel) -> bool {
        self.is_available() && (self.has_non_temporal_stores() || !kernel.facts().is_non_temporal)
    }

    /// Returns the loops. They are safe to call only where [`Simd::is_available`] returns `true`.
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
            _ => &portable::FUNCTIONS,
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

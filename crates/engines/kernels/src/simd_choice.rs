//! Chooses the fastest vector instruction set for a kernel by trial: the widest is not always the
//! fastest (on a Zen 4, AVX2 reads 5 to 8 % more than AVX-512).

use linux::Root;
use model::StreamKernel;

use crate::Error;
use crate::bandwidth::{BandwidthPlan, StreamThread, measure_bandwidth};
use crate::placed_memory::PageChoice;
use crate::simd::Simd;
use crate::timer::Timer;

/// Memory of a trial: exceeds all but the largest caches, and takes about 20 ms to fill.
const TRIAL_BYTES: usize = 96 << 20;

/// Rounds. Each round tries every set, so that a disturbance of some milliseconds does not decide
/// the choice.
const TRIAL_TURNS: usize = 3;

/// Windows per set and round.
const TRIAL_WINDOWS: u32 = 5;

/// Length of a trial window, ns.
const TRIAL_WINDOW_NS: u64 = 1_000_000;

/// Returns the instruction set that moves the most bytes per second in a short trial of this kernel
/// on one thread. Plain loops do not compete in kernels that bypass the caches. `None` if this
/// processor cannot run the kernel at all.
///
/// # Errors
/// As for [`measure_bandwidth`].
pub fn fastest_simd(
    kernel: StreamKernel,
    thread: &StreamThread,
    timer: &Timer,
    root: &Root,
) -> Result<Option<Simd>, Error> {
    let candidates: Vec<Simd> = Simd::available()
        .into_iter()
        .filter(|simd| simd.can_run(kernel))
        .collect();
    let mut samples = vec![Vec::new(); candidates.len()];
    for _ in 0..TRIAL_TURNS {
        for (simd, samples) in candidates.iter().zip(&mut samples) {
            let plan = BandwidthPlan {
                kernel,
                simd: *simd,
                threads: vec![thread.clone()],
                bytes_per_thread: TRIAL_BYTES,
                pages: PageChoice::Largest,
                windows: TRIAL_WINDOWS,
                window_ns: TRIAL_WINDOW_NS,
            };
            samples.extend(measure_bandwidth(&plan, timer, root)?.samples_bytes_per_s());
        }
    }
    let rates = samples
        .iter()
        .map(|samples| stats::median(samples).unwrap_or(0.0));
    let fastest = candidates
        .into_iter()
        .zip(rates)
        .max_by(|(_, one), (_, other)| one.total_cmp(other));
    Ok(fastest.map(|(simd, _)| simd))
}

#[cfg(test)]
mod tests {
    use linux::Root;
    use model::{NodeId, StreamKernel};

    use super::fastest_simd;
    use crate::bandwidth::StreamThread;
    use crate::placed_memory::MemoryNodes;
    use crate::simd::Simd;
    use crate::timer::Timer;

    #[test]
    fn one_that_can_run_the_kernel_is_chosen() {
        let thread = StreamThread {
            cpu: linux::affinity::of_this_thread().unwrap().last().unwrap(),
            nodes: MemoryNodes::Bind(NodeId(0)),
        };
        let kernel = StreamKernel::NtWrite;
        let chosen = fastest_simd(kernel, &thread, &Timer::for_tests(), &Root::live()).unwrap();
        assert_eq!(chosen.is_some(), Simd::best().can_run(kernel));
        assert!(chosen.is_none_or(|simd| simd.can_run(kernel)));
    }
}

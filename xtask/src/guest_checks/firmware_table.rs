//! The firmware's distances are replaced by measured ones: numalab makes the table in one guest,
//! others boot with it, one on each kernel, and their kernel, numactl and numalab say the measured
//! distances. The latencies are those of article 002, and some that make the table asymmetric.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::check::{Answers, Complaints, GuestCommand, numalab, shell};
use crate::arguments::GuestKernel;
use crate::guest::{self, Options, Relay, SHAPES};
use crate::program::Interrupt;
use crate::repository;

/// The shape: the firmware says 21 between all of its four nodes.
const SHAPE: &str = "four-node-ring";

/// Latencies in ns, from each node (row) to each node.
const LATENCIES: &str = "53 211 217 248\n215 53 248 213\n217 248 53 212\n300 212 216 53\n";
/// Ten times the ratio to the local latency, after the hop classes of each row: 211 and 217 ns are
/// one class, whose middle is 214 ns.
const DISTANCES: [&str; 4] = ["10 40 40 47", "40 10 47 40", "40 47 10 40", "57 40 40 10"];

/// The archive, on the host's directory.
const ARCHIVE: &str = "early.cpio";

/// Boots all guests and returns what is wrong.
pub(crate) fn run(binary: &Path, interrupt: &Interrupt) -> Result<Vec<String>> {
    let share = repository::guest().join("firmware-table");
    std::fs::create_dir_all(&share)
        .with_context(|| format!("cannot create {}", share.display()))?;
    let make = format!(
        "printf '{LATENCIES}' >/tmp/latencies.txt && \
         numalab firmware --from /tmp/latencies.txt --early-initrd /run/share/{ARCHIVE}"
    );
    let first = boot(
        vec![
            shell("firmware", "cat /sys/devices/system/node/node*/distance"),
            shell("make", &make),
        ],
        Options {
            share: Some(share.clone()),
            ..options(binary)?
        },
        interrupt,
    )?;
    let mut complaints = Complaints::default();
    let of_firmware = "10 21 21 21\n21 10 21 21\n21 21 10 21\n21 21 21 10\n";
    complaints.expect_lines("the firmware", first.text("firmware")?, of_firmware);
    let said = first.text("make")?;
    for line in ["3 57 40 40 10", "3 21 21 21 10"] {
        expect_line(&mut complaints, said, line);
    }
    for kernel in [GuestKernel::Stable, GuestKernel::Backports] {
        let booted = boot(
            vec![
                shell("release", "uname -r"),
                shell("kernel", "cat /sys/devices/system/node/node*/distance"),
                shell("numactl", "numactl --hardware"),
                numalab("topology", &["topology", "--json"]),
                shell("log", "dmesg | grep -i 'acpi.*slit'"),
            ],
            Options {
                early_initrd: Some(share.join(ARCHIVE)),
                kernel,
                ..options(binary)?
            },
            interrupt,
        )?;
        let mut found = Complaints::default();
        judge(&booted, &mut found)?;
        let release = booted.text("release")?.trim();
        for complaint in found.into_list() {
            complaints.add(format!("on {release}: {complaint}"));
        }
    }
    Ok(complaints.into_list())
}

fn options(binary: &Path) -> Result<Options> {
    let shape = SHAPES.iter().find(|shape| shape.name == SHAPE);
    Ok(Options {
        timeout: Duration::from_secs(600),
        binaries: vec![binary.to_owned()],
        ..Options::of(shape.with_context(|| format!("there is no shape {SHAPE}"))?)
    })
}

fn boot(commands: Vec<GuestCommand>, options: Options, interrupt: &Interrupt) -> Result<Answers> {
    let words: Vec<_> = commands.iter().map(|it| it.words.clone()).collect();
    let outcomes = guest::run(&options, &words, Relay::Keep, interrupt)?;
    let mut answers = Answers::default();
    for (command, outcome) in commands.into_iter().zip(outcomes) {
        answers.add(command, outcome);
    }
    Ok(answers)
}

/// Complains unless a line has these words.
fn expect_line(complaints: &mut Complaints, text: &str, words: &str) {
    let has = |line: &str| line.split_whitespace().eq(words.split(' '));
    if !text.lines().any(has) {
        complaints.add(format!("no line {words:?} in\n{text}"));
    }
}

fn judge(answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let expected = DISTANCES.join("\n");
    complaints.expect_lines("the kernel", answers.text("kernel")?, &expected);
    let numactl = answers.text("numactl")?;
    for (node, distances) in DISTANCES.iter().enumerate() {
        expect_line(complaints, numactl, &format!("{node}: {distances}"));
    }
    let document = answers.json("topology")?;
    for (node, distances) in DISTANCES.iter().enumerate() {
        let row = document["distances"][node].as_array();
        let row = row.context("topology has no distances")?.iter();
        let row: Vec<String> = row.map(ToString::to_string).collect();
        complaints.expect("topology", &row.join(" ").as_str(), distances);
    }
    Ok(())
}

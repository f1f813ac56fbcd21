//! The guest itself: what a command writes and how it ends reaches the host unchanged. Every other
//! check depends on this.

use anyhow::Result;

use super::check::{Answers, Check, Complaints, shell};
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "streams",
    applies_to: |shape| shape.name == "one-node",
    cgroup: CgroupVersion::V2,
    seconds: 10,
    commands: |_| {
        vec![
            shell("mixed", r"printf 'a\r\nb'; printf 'c\n' >&2; exit 7"),
            shell("killed", "kill -9 $$"),
            shell("large", "seq 1 20000"),
        ]
    },
    judge,
};

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let mixed = answers.outcome("mixed")?;
    complaints.expect("exit status", &mixed.status, &7);
    complaints.expect("stdout", &mixed.stdout.as_slice(), &&b"a\r\nb"[..]);
    complaints.expect("stderr", &mixed.stderr.as_slice(), &&b"c\n"[..]);

    let killed = answers.outcome("killed")?;
    complaints.expect("status of a killed command", &killed.status, &(128 + 9));
    complaints.expect("its stdout", &killed.stdout.len(), &0);
    complaints.expect("its stderr", &killed.stderr.len(), &0);

    let large: String = (1..=20_000).map(|number| format!("{number}\n")).collect();
    complaints.expect(
        "a large stdout is complete",
        &(answers.text("large")? == large),
        &true,
    );
    Ok(())
}

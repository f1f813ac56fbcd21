//! Slurm: an array with a task for each host, alone on its node.
//!
//! A task of an array goes to any node, and two may go to the same one. So the array is submitted
//! held, each task is told its node, and then all are released: one job to watch and to cancel, and
//! a task whose node is down waits for it.

use crate::plan::Files;
use crate::plan::Plan;
use crate::script::script;

/// Slurm's default for the most tasks of an array is 1001, counted from 0 (slurm.conf(5),
/// `MaxArraySize`).
const TASKS_MAX: usize = 1000;

const SUBMIT: &str = r#"#!/bin/sh
# Made by `numalab fleet plan`. Submits one array for each file hosts-*: a task for each host.
# Options of sbatch may follow, such as --partition or --account.
set -eu
cd "$(dirname "$0")"
mkdir -p logs
for hosts in hosts-*; do
    last=$(($(grep -c . "$hosts") - 1))
    job=$(sbatch --parsable --hold --array="0-$last" "$@" numalab.sbatch)
    job=${job%%;*}
    task=0
    while read -r host; do
        scontrol update "JobId=${job}_$task" "ReqNodeList=$host"
        task=$((task + 1))
    done <"$hosts"
    scontrol release "$job"
    echo "$job"
done
"#;

pub(crate) fn files(plan: &Plan) -> Files {
    let minutes = plan.seconds().div_ceil(60);
    let options = format!(
        "#SBATCH --job-name=numalab-{}\n#SBATCH --nodes=1\n#SBATCH --ntasks=1\n\
         #SBATCH --exclusive\n#SBATCH --mem=0\n#SBATCH --time={minutes}\n#SBATCH --requeue\n\
         #SBATCH --open-mode=append\n#SBATCH --output=logs/%A_%a.txt\n",
        plan.name
    );
    let mut files = vec![
        ("numalab.sbatch".to_owned(), script(plan, &options)),
        ("submit.sh".to_owned(), SUBMIT.to_owned()),
    ];
    for (number, hosts) in plan.hosts.chunks(TASKS_MAX).enumerate() {
        files.push((format!("hosts-{number:02}"), hosts.join("\n") + "\n"));
    }
    Files {
        files,
        next: vec![
            (
                "sh submit.sh".to_owned(),
                "submit; prints the number of the job",
            ),
            (
                "squeue --me".to_owned(),
                "which tasks run or wait, and for what",
            ),
        ],
    }
}

#[cfg(test)]
mod tests {
    use crate::Engine;
    use crate::plan::tests::plan;

    #[test]
    fn each_thousand_hosts_is_an_array() {
        let mut plan = plan(Engine::Slurm, &["latency"]);
        plan.hosts = (0..2001).map(|it| format!("n{it}")).collect();
        let files = super::files(&plan).files;
        let lines = |name: &str| {
            let (_, text) = files.iter().find(|(found, _)| found == name).unwrap();
            text.lines().count()
        };
        assert_eq!(
            [lines("hosts-00"), lines("hosts-01"), lines("hosts-02")],
            [1000, 1000, 1]
        );
    }

    #[test]
    fn each_task_has_a_node_for_itself() {
        let plan = plan(Engine::Slurm, &["doctor", "latency", "binding-vs-caging"]);
        let files = super::files(&plan).files;
        let (_, batch) = &files[0];
        // 300 and 3600 s, 720 s of an experiment of 300 s, and 900 s to send.
        for line in [
            "#SBATCH --exclusive",
            "#SBATCH --nodes=1",
            "#SBATCH --time=92",
        ] {
            assert!(batch.lines().any(|it| it == line), "{line}: {batch}");
        }
        assert!(batch.contains("\nstep latency 3600 latency\n"), "{batch}");
    }
}

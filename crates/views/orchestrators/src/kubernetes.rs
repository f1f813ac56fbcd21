//! Kubernetes: a Job for each host of a list, or a DaemonSet for every node. Each step is a
//! container of its own, one after the other, with the capabilities that docs/security.md says it
//! needs and no others; the last one sends what was measured.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::hosts::first_label;
use crate::plan::Files;
use crate::plan::Plan;
use crate::script::script;
use crate::step::Step;

/// Who runs what needs no capability: nobody, as most distributions have it.
const NOBODY: u32 = 65_534;
/// The longest name of a Job, whose pods get a label with it.
const NAME_MAX: usize = 63;

/// The login of the container that sends: no other one needs it.
const PASSWORD: &str = "        - name: PGPASSWORD
          valueFrom: {secretKeyRef: {name: numalab-store, key: password, optional: true}}
";

/// What every step of a pod has.
struct Pod<'p> {
    plan: &'p Plan,
    image: &'p str,
}

pub(crate) fn files(plan: &Plan, image: &str) -> Files {
    let pod = Pod { plan, image };
    let mut text = config_map(plan);
    match plan.hosts.is_empty() {
        true => text += &pod.daemon_set(),
        false => {
            let mut names = BTreeSet::new();
            for host in &plan.hosts {
                text += &pod.job(host, &mut names);
            }
        }
    }
    let container = "# Made by `numalab fleet plan`. numalab here is the static program.\n\
                     FROM debian:stable-slim\nCOPY numalab /usr/local/bin/numalab\n";
    let secret = "kubectl create secret generic numalab-store --from-literal=password=…";
    let what = match plan.hosts.is_empty() {
        true => "daemonset",
        false => "job",
    };
    Files {
        files: vec![
            ("kubernetes.yaml".to_owned(), text),
            ("Containerfile".to_owned(), container.to_owned()),
        ],
        next: vec![
            (
                secret.to_owned(),
                "the password of the store, if it wants one",
            ),
            ("kubectl apply -f kubernetes.yaml".to_owned(), "measure"),
            (
                format!("kubectl get {what} -l numalab-plan={}", plan.name),
                "which have ended",
            ),
        ],
    }
}

/// A text of YAML, which takes those of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn labels(plan: &Plan) -> String {
    format!(
        "{{app.kubernetes.io/name: numalab, numalab-plan: {}}}",
        quoted(&plan.name)
    )
}

/// The script of the steps.
fn config_map(plan: &Plan) -> String {
    let mut text = format!(
        "# Made by `numalab fleet plan`.\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  \
         name: numalab-{}\n  labels: {}\ndata:\n  fleet.sh: |\n",
        plan.name,
        labels(plan)
    );
    for line in script(plan, "").lines() {
        match line.is_empty() {
            true => text.push('\n'),
            false => writeln!(text, "    {line}").expect("writing to a string cannot fail"),
        }
    }
    text
}

impl Pod<'_> {
    fn job(&self, host: &str, names: &mut BTreeSet<String>) -> String {
        let plan = self.plan;
        let label = first_label(host).to_ascii_lowercase().replace('_', "-");
        let mut name = format!("numalab-{}-{label}", plan.name);
        name.truncate(NAME_MAX - 6);
        let mut name = name.trim_end_matches('-').to_owned();
        if names.contains(&name) {
            name = format!("{name}-{}", names.len());
        }
        names.insert(name.clone());
        // The name of a pod's host is that of the pod; runs are stored under it.
        let of_host = format!(
            "hostname: {}\n      nodeSelector: {{kubernetes.io/hostname: {}}}\n      \
             restartPolicy: Never",
            quoted(label.trim_end_matches('-')),
            quoted(host)
        );
        format!(
            "---
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  labels: {labels}
spec:
  activeDeadlineSeconds: {seconds}
  backoffLimit: 2
  podFailurePolicy:
    rules:
    # A step that fails is not tried again; a pod that is lost is.
    - action: FailJob
      onExitCodes: {{containerName: end, operator: In, values: [1]}}
{template}",
            labels = labels(plan),
            seconds = plan.seconds(),
            template = self.template(&of_host, "")
        )
    }

    fn daemon_set(&self) -> String {
        let plan = self.plan;
        // Only with the network of the host a pod has its name, under which runs are stored.
        let of_host = "hostNetwork: true\n      dnsPolicy: ClusterFirstWithHostNet";
        // A DaemonSet starts again whatever ends.
        let after = "; code=$?; echo \"ended: $code\"; while sleep 3600; do :; done";
        format!(
            "---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: numalab-{name}
  labels: {labels}
spec:
  selector:
    matchLabels: {{numalab-plan: {plan_name}}}
{template}",
            name = plan.name,
            plan_name = quoted(&plan.name),
            labels = labels(plan),
            template = self.template(of_host, after)
        )
    }

    /// A template of a pod; `after` is what the last container does then.
    fn template(&self, of_host: &str, after: &str) -> String {
        let plan = self.plan;
        let needs_root = plan.steps.iter().any(|it| !it.capabilities().is_empty());
        let sees_processes = plan.steps.iter().any(Step::sees_processes);
        let user = match needs_root {
            // Kubernetes gives capabilities to nobody but root.
            true => "runAsUser: 0".to_owned(),
            false => format!("runAsNonRoot: true, runAsUser: {NOBODY}, runAsGroup: {NOBODY}"),
        };
        let of_processes = match sees_processes {
            true => "      # To look at processes of the host.\n      hostPID: true\n",
            false => "",
        };
        let mut text = format!(
            "  template:
    metadata:
      labels: {labels}
    spec:
      {of_host}
{of_processes}      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext: {{{user}, seccompProfile: {{type: RuntimeDefault}}}}
      initContainers:
",
            labels = labels(plan)
        );
        for step in &plan.steps {
            let name = step.short_name();
            let command = format!("[/bin/sh, /plan/fleet.sh, {}]", quoted(&name));
            text += &self.container(&name, &command, &capabilities(step), "");
        }
        let command = match after.is_empty() {
            true => "[/bin/sh, /plan/fleet.sh, end]".to_owned(),
            false => {
                let script = format!("/bin/sh /plan/fleet.sh end{after}");
                format!("[/bin/sh, -c, {}]", quoted(&script))
            }
        };
        text += "      containers:\n";
        text += &self.container("end", &command, "drop: [ALL]", PASSWORD);
        text += &format!(
            "      volumes:\n      - name: plan\n        configMap: {{name: numalab-{}}}\n      \
             - name: state\n        emptyDir: {{}}\n",
            plan.name
        );
        text
    }

    fn container(&self, name: &str, command: &str, capabilities: &str, login: &str) -> String {
        let image = quoted(self.image);
        format!(
            "      - name: {name}
        image: {image}
        command: {command}
        env:
        - {{name: XDG_STATE_HOME, value: /state}}
        - {{name: TMPDIR, value: /state}}
{login}        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {{{capabilities}}}
        volumeMounts:
        - {{name: plan, mountPath: /plan, readOnly: true}}
        - {{name: state, mountPath: /state}}
"
        )
    }
}

fn capabilities(step: &Step) -> String {
    let mut names = step.capabilities().to_vec();
    if step.places_memory() {
        // With it, the default profile lets calls pass that place memory; it gives no right to a
        // user other than root.
        names.push("SYS_NICE");
    }
    match names.is_empty() {
        true => "drop: [ALL]".to_owned(),
        false => format!("drop: [ALL], add: [{}]", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::Engine;
    use crate::plan::tests::plan;

    #[track_caller]
    fn check(steps: &[&str], expected: &[&str], unexpected: &[&str]) {
        let plan = plan(Engine::Kubernetes, steps);
        let files = super::files(&plan, "registry/numalab:1").files;
        let (_, text) = &files[0];
        for line in expected {
            assert!(text.contains(line), "{line}: {text}");
        }
        for line in unexpected {
            assert!(!text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn a_pod_may_what_its_steps_need_and_no_more() {
        let nothing = ["add:", "hostPID", "hostNetwork", "hostPath", "runAsUser: 0"];
        check(&["doctor"], &["runAsNonRoot: true"], &nothing);
        let calls = [
            "capabilities: {drop: [ALL], add: [SYS_NICE]}",
            "runAsNonRoot: true",
        ];
        check(&["doctor", "latency"], &calls, &["SYS_PTRACE", "hostPID"]);
        let processes = ["add: [SYS_PTRACE]}", "hostPID: true", "runAsUser: 0"];
        check(
            &["doctor postgres"],
            &processes,
            &["SYS_NICE", "runAsNonRoot"],
        );
    }

    #[test]
    fn names_that_are_alike_when_cut_stay_apart() {
        let mut plan = plan(Engine::Kubernetes, &["doctor"]);
        plan.hosts = ["a", "b"]
            .map(|end| format!("{}{end}", "x".repeat(62)))
            .to_vec();
        let files = super::files(&plan, "numalab").files;
        let lines = files[0].1.lines();
        let names = lines.filter(|it| it.starts_with("  name: numalab-october-x"));
        let names: std::collections::BTreeSet<&str> = names.collect();
        assert_eq!(names.len(), 2, "{names:?}");
        assert!(names.iter().all(|it| it.len() <= 63 + "  name: ".len()));
    }
}

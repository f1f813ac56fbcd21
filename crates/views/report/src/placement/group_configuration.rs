//! Configuration files that make a processor group permanent, for several managers of cgroups.

use model::{CpuSet, GroupState, counted, cpu_words, node_words};

/// The program that a configuration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configuration {
    /// libcgroup, `/etc/cgconfig.conf`.
    Cgconfig,
    /// systemd: a slice.
    Systemd,
    /// Kubernetes: the kubelet and a Pod.
    Kubernetes,
    /// Oracle: `processor_group_name` and related parameters.
    Oracle,
}

/// Returns the configuration of a group. `machine_cpus` are all online CPUs.
pub fn group_configuration(
    configuration: Configuration,
    group: &GroupState,
    machine_cpus: &CpuSet,
) -> String {
    match configuration {
        Configuration::Cgconfig => cgconfig(group),
        Configuration::Systemd => systemd(group),
        Configuration::Kubernetes => kubernetes(group, machine_cpus),
        Configuration::Oracle => oracle(group),
    }
}

fn cgconfig(group: &GroupState) -> String {
    let GroupState {
        name,
        cpus,
        memory_nodes,
        ..
    } = group;
    let mut text = format!(
        "# /etc/cgconfig.conf; loaded at boot by the service cgconfig, or now by\n\
         # cgconfigparser -l /etc/cgconfig.conf\n\
         group {name} {{\n    \
         # Who may start processes in it, and who may change it:\n    \
         # perm {{ task {{ uid = oracle; gid = dba; }}\n    \
         #        admin {{ uid = oracle; gid = dba; }} }}\n    \
         cpuset {{\n        \
         cpuset.mems = \"{memory_nodes}\";\n        \
         cpuset.cpus = \"{cpus}\";\n    }}\n"
    );
    if let Some(limit) = group.cpu_limit {
        let quota_us = (limit * 100_000.0).round();
        let lines = match group.cgroup_version {
            1 => format!(
                "cpu.cfs_period_us = \"100000\";\n        cpu.cfs_quota_us = \"{quota_us}\";"
            ),
            _ => format!("cpu.max = \"{quota_us} 100000\";"),
        };
        text.push_str(&format!("    cpu {{\n        {lines}\n    }}\n"));
    }
    text + "}\n"
}

fn systemd(group: &GroupState) -> String {
    let GroupState {
        name,
        cpus,
        memory_nodes,
        ..
    } = group;
    let unit = group
        .unit
        .clone()
        .unwrap_or_else(|| format!("numalab-{}.slice", name.replace('-', "\\x2d")));
    let quota = group.cpu_limit.map_or(String::new(), |limit| {
        format!("CPUQuota={}%\n", limit * 100.0)
    });
    format!(
        "# /etc/systemd/system/{unit} (cgroup v2)\n\
         [Unit]\n\
         Description=Processor group {name}\n\
         \n\
         [Slice]\n\
         AllowedCPUs={cpus}\n\
         AllowedMemoryNodes={memory_nodes}\n\
         {quota}\
         \n\
         # /etc/systemd/system/DATABASE.service.d/{name}.conf\n\
         [Service]\n\
         Slice={unit}\n\
         \n\
         # then: systemctl daemon-reload && systemctl restart DATABASE.service\n"
    )
}

fn kubernetes(group: &GroupState, machine_cpus: &CpuSet) -> String {
    let GroupState {
        name,
        cpus,
        memory_nodes,
        ..
    } = group;
    let policy = match memory_nodes.len() {
        1 => "single-numa-node",
        _ => "restricted",
    };
    let others = machine_cpus.difference(cpus);
    let reserved = match others.is_empty() {
        true => "# reservedSystemCPUs: at least one CPU must be left to the system".to_owned(),
        false => format!("reservedSystemCPUs: \"{others}\""),
    };
    let count = group
        .cpu_limit
        .map_or(cpus.len(), |limit| limit.ceil() as usize);
    let (can_give, from) = (cpu_words(cpus), node_words(memory_nodes));
    let first = memory_nodes.first().map_or(0, |node| node.0);
    format!(
        "# Kubernetes has no name for a set of CPUs. The kubelet gives whole CPUs and memory of\n\
         # the same nodes to a container that asks for whole CPUs with limits equal to\n\
         # requests. With all other CPUs reserved, what it can give is {can_give}; that\n\
         # memory comes from {from} follows from where these CPUs are.\n\
         # The kubelet's configuration; its state files must be removed when a policy changes:\n\
         apiVersion: kubelet.config.k8s.io/v1beta1\n\
         kind: KubeletConfiguration\n\
         cpuManagerPolicy: static\n\
         memoryManagerPolicy: Static\n\
         topologyManagerPolicy: {policy}\n\
         {reserved}\n\
         # The sum must be that of kube-reserved, system-reserved and the eviction threshold:\n\
         reservedMemory:\n\
         - numaNode: {first}\n  \
         limits:\n    \
         memory: 1100Mi\n\
         ---\n\
         apiVersion: v1\n\
         kind: Pod\n\
         metadata:\n  \
         name: {}\n\
         spec:\n  \
         containers:\n  \
         - name: database\n    \
         image: IMAGE\n    \
         resources:\n      \
         requests: &all\n        \
         cpu: \"{count}\"\n        \
         memory: MEMORY\n      \
         limits: *all\n",
        name.to_ascii_lowercase().replace('_', "-")
    )
}

fn oracle(group: &GroupState) -> String {
    let GroupState {
        name,
        cpus,
        memory_nodes,
        ..
    } = group;
    let caging = match group.cpu_limit {
        Some(limit) => format!(
            "-- The quota of the group is {}: instance caging keeps sessions from\n\
             -- running into it.\n\
             alter system set cpu_count={} scope=spfile sid='*';\n\
             alter system set resource_manager_plan='DEFAULT_PLAN' scope=spfile sid='*';\n",
            counted(limit, "CPU"),
            limit.ceil()
        ),
        None => {
            "-- The instance counts the CPUs of the group itself; a number of its own would cage \
                 it.\n\
                 alter system reset \"cpu_count\" scope=spfile sid='*';\n"
                .to_owned()
        }
    };
    let directory = group
        .directories
        .first()
        .map_or(String::new(), |it| format!(" ({it})"));
    format!(
        "-- The instance runs in the processor group {name}{directory}:\n\
         -- {}, memory of {}. The group must exist before the instance\n\
         -- starts, and its owner must be allowed to write the group's tasks or cgroup.procs.\n\
         alter system set processor_group_name='{name}' scope=spfile sid='*';\n\
         {caging}\
         -- All of the SGA in huge pages of these nodes, or no start at all.\n\
         alter system set use_large_pages='ONLY' scope=spfile sid='*';\n\
         -- Then restart the instance; its alert log names the group.\n",
        cpu_words(cpus),
        node_words(memory_nodes)
    )
}

#[cfg(test)]
mod tests {
    use model::GroupState;

    use super::{Configuration, group_configuration};

    fn check(configuration: Configuration, cpu_limit: Option<f64>, expected: &[&str]) {
        let group = GroupState {
            name: "oracle".to_owned(),
            cgroup_version: 1,
            cpus: "1-9".parse().unwrap(),
            memory_nodes: "0".parse().unwrap(),
            cpu_limit,
            ..GroupState::default()
        };
        let text = group_configuration(configuration, &group, &"0-19".parse().unwrap());
        for line in expected {
            assert!(
                text.lines().any(|found| found.trim() == *line),
                "no {line:?} in\n{text}"
            );
        }
        assert!(text.ends_with('\n'));
    }

    #[test]
    fn article_000_has_these_lines() {
        check(
            Configuration::Cgconfig,
            None,
            &[
                "group oracle {",
                "cpuset.mems = \"0\";",
                "cpuset.cpus = \"1-9\";",
            ],
        );
        check(
            Configuration::Oracle,
            None,
            &[
                "alter system set processor_group_name='oracle' scope=spfile sid='*';",
                "alter system reset \"cpu_count\" scope=spfile sid='*';",
            ],
        );
    }

    #[test]
    fn a_limit_is_said_in_every_language() {
        check(
            Configuration::Cgconfig,
            Some(1.5),
            &["cpu.cfs_quota_us = \"150000\";"],
        );
        check(
            Configuration::Systemd,
            Some(1.5),
            &["CPUQuota=150%", "AllowedCPUs=1-9"],
        );
        check(Configuration::Kubernetes, Some(1.5), &["cpu: \"2\""]);
        let caging = "alter system set cpu_count=2 scope=spfile sid='*';";
        check(Configuration::Oracle, Some(1.5), &[caging]);
    }

    #[test]
    fn kubernetes_keeps_the_other_cpus_for_itself() {
        check(
            Configuration::Kubernetes,
            None,
            &[
                "reservedSystemCPUs: \"0,10-19\"",
                "topologyManagerPolicy: single-numa-node",
                "cpu: \"9\"",
            ],
        );
    }
}

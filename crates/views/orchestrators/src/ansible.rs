//! Ansible: a role that runs the steps on each host and leaves its figures as facts, with a
//! playbook and an inventory.

use crate::plan::Files;
use crate::plan::Plan;
use crate::script::script;

const PLAYBOOK: &str = "# Made by `numalab fleet plan`.
- name: Measure every machine
  hosts: numalab_fleet
  gather_facts: false
  # One that fails keeps no other from being measured.
  strategy: free
  roles:
    - numalab_fleet
";

const TASKS: &str = r#"# Made by `numalab fleet plan`.
- name: Make the folder of the fleet
  ansible.builtin.file:
    path: "{{ numalab_folder }}"
    state: directory
    mode: "0755"
  become: "{{ numalab_become }}"

- name: Copy the program
  ansible.builtin.copy:
    src: "{{ numalab_binary }}"
    dest: "{{ numalab_folder }}/numalab"
    mode: "0755"
  become: "{{ numalab_become }}"
  when: numalab_binary | length > 0

- name: Copy the script
  ansible.builtin.copy:
    src: fleet.sh
    dest: "{{ numalab_folder }}/fleet.sh"
    mode: "0755"
  become: "{{ numalab_become }}"

- name: Measure, and send what was measured
  ansible.builtin.command:
    cmd: /bin/sh {{ numalab_folder }}/fleet.sh
  environment: "{{ numalab_environment }}"
  async: "{{ numalab_seconds }}"
  poll: 5
  become: "{{ numalab_become }}"
  # The script does what was done before not again, and says nothing else of it.
  changed_when: true

- name: Make the folder of local facts
  ansible.builtin.file:
    path: "{{ numalab_facts_folder }}"
    state: directory
    mode: "0755"
  become: "{{ numalab_become }}"
  when: numalab_facts_folder | length > 0

- name: Leave the figures as local facts
  ansible.builtin.template:
    src: numalab.fact.j2
    dest: "{{ numalab_facts_folder }}/numalab.fact"
    mode: "0755"
  become: "{{ numalab_become }}"
  when: numalab_facts_folder | length > 0
"#;

const FACT: &str = r#"#!/bin/sh
# Made by `numalab fleet plan`: the figures of this machine as ansible_local.numalab.
state={{ numalab_folder | quote }}/state/{{ numalab_plan | quote }}/$(uname -n)
program={{ numalab_program | quote }}
"$program" fleet feed --for ansible --store "$state/runs.sqlite" 2>/dev/null || echo '{}'
"#;

fn defaults(plan: &Plan) -> String {
    let needs = plan.steps.iter().flat_map(crate::Step::capabilities);
    let needs: Vec<String> = needs.map(|name| format!("CAP_{name}")).collect();
    let why = match needs.is_empty() {
        true => "no step needs root; facts in /etc do".to_owned(),
        false => format!("steps need {}", needs.join(", ")),
    };
    format!(
        r#"# Made by `numalab fleet plan`.
numalab_plan: {name}
# A static numalab on the controller that is copied to each host; empty: the one in the PATH.
numalab_binary: ""
numalab_program: >-
  {{{{ (numalab_folder ~ '/numalab') if numalab_binary | length > 0 else 'numalab' }}}}
# Whether the tasks run as root: {why}.
numalab_become: true
# What was measured and not sent yet.
numalab_folder: /var/lib/numalab-fleet
# Where Ansible looks for local facts; empty: none are left.
numalab_facts_folder: /etc/ansible/facts.d
numalab_seconds: {seconds}
# The password of the store, best from a vault; without one, ~/.pgpass of the host says it.
numalab_store_password: ""
numalab_environment: >-
  {{{{ {{'NUMALAB': numalab_program, 'NUMALAB_FLEET_STATE': numalab_folder ~ '/state'}}
  | combine({{'PGPASSWORD': numalab_store_password}}
  if numalab_store_password | length > 0 else {{}}) }}}}
"#,
        name = plan.name,
        seconds = plan.seconds(),
    )
}

pub(crate) fn files(plan: &Plan) -> Files {
    let role = |name: &str| format!("roles/numalab_fleet/{name}");
    let inventory = format!("[numalab_fleet]\n{}\n", plan.hosts.join("\n"));
    Files {
        files: vec![
            ("site.yml".to_owned(), PLAYBOOK.to_owned()),
            ("inventory.ini".to_owned(), inventory),
            (role("tasks/main.yml"), TASKS.to_owned()),
            (role("defaults/main.yml"), defaults(plan)),
            (role("files/fleet.sh"), script(plan, "")),
            (role("templates/numalab.fact.j2"), FACT.to_owned()),
        ],
        next: vec![(
            "ansible-playbook -i inventory.ini site.yml".to_owned(),
            "measure; -f N measures N at once",
        )],
    }
}

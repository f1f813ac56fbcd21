//! Any snapshot, any keys, any size: nothing panics, and nothing is drawn that a terminal would
//! obey.

use model::{
    Allocations, CpuId, InstanceSnapshot, MemorySnapshot, NodeHugePages, NodeId, NodeSnapshot,
    Pressure, ProcessSnapshot, Snapshot,
};
use proptest::prelude::*;
use watch::{Input, Key, Mouse, Options, Recorded, View};

use crate::screens::buffer;

fn figure() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), 0.0..1000.0_f64]
}

fn memory() -> impl Strategy<Value = Option<MemorySnapshot>> {
    let bytes = prop::collection::btree_map((0..5_u32).prop_map(NodeId), any::<u64>(), 0..5);
    let memory = (bytes, figure()).prop_map(|(bytes_by_node, looked_at_s)| MemorySnapshot {
        bytes_by_node,
        looked_at_s,
        ..MemorySnapshot::default()
    });
    prop::option::of(memory)
}

fn node() -> impl Strategy<Value = NodeSnapshot> {
    let counts = prop::option::of((any::<u64>(), any::<u64>(), any::<u64>()));
    let bytes = prop::option::of(any::<u64>());
    let pools = prop::collection::vec((any::<u64>(), any::<u64>(), bytes.clone()), 0..3);
    let cpus = prop::collection::vec(0..9_u32, 0..4);
    let fields = (0..5_u32, cpus, bytes.clone(), bytes, pools, counts);
    let busy = prop::option::of(figure());
    (fields, busy).prop_map(
        |((id, cpus, memory_bytes, free_bytes, pools, counts), cpu_busy_s)| {
            let pool = |(page_bytes, total, free)| NodeHugePages {
                page_bytes,
                total,
                free,
                surplus: None,
            };
            NodeSnapshot {
                id: NodeId(id),
                cpus: cpus.into_iter().map(CpuId).collect(),
                memory_bytes,
                free_bytes,
                huge_pages: pools.into_iter().map(pool).collect(),
                allocations: counts.map(|(hit, miss, foreign)| Allocations { hit, miss, foreign }),
                cpu_busy_s,
                ..NodeSnapshot::default()
            }
        },
    )
}

fn process() -> impl Strategy<Value = ProcessSnapshot> {
    let last = prop::option::of((0..9_u32).prop_map(CpuId));
    let allowed = prop::option::of(prop::collection::vec(0..9_u32, 0..4));
    let fields = (0..6_u32, any::<String>(), any::<u32>(), figure(), last);
    let text = prop::option::of(any::<String>());
    let origin = (prop::option::of(0..6_u32), text.clone(), text);
    (fields, allowed, memory(), origin).prop_map(|(fields, cpus, memory, origin)| {
        let (pid, name, threads, cpu_s, last_cpu) = fields;
        let (parent, user, command) = origin;
        ProcessSnapshot {
            pid,
            name,
            parent,
            user,
            control_group: command.clone(),
            command,
            threads,
            cpu_s,
            last_cpu,
            cpus_allowed: cpus.map(|it| it.into_iter().map(CpuId).collect()),
            memory,
            ..ProcessSnapshot::default()
        }
    })
}

fn snapshot() -> impl Strategy<Value = Snapshot> {
    let instance = (
        any::<String>(),
        prop::collection::vec(0..9_u32, 0..4),
        memory(),
    );
    let instance =
        instance.prop_map(|(name, pids, memory)| InstanceSnapshot { name, pids, memory });
    let clocks = (figure(), figure(), prop::option::of(figure()));
    let nodes = prop::collection::vec(node(), 0..4);
    let processes = prop::collection::vec(process(), 0..6);
    let instances = prop::collection::vec(instance, 0..3);
    (clocks, nodes, processes, instances).prop_map(|(clocks, nodes, processes, instances)| {
        Snapshot {
            taken_at_s: clocks.0,
            uptime_s: clocks.1,
            nodes,
            pressure: Pressure {
                cpu_some: clocks.2,
                ..Pressure::default()
            },
            processes,
            instances,
            ..Snapshot::default()
        }
    })
}

fn mouse() -> impl Strategy<Value = Mouse> {
    prop_oneof![
        4 => (0..220_u16, 0..30_u16).prop_map(|(x, y)| Mouse::Click(x, y)),
        1 => Just(Mouse::WheelUp),
        1 => Just(Mouse::WheelDown),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    let events = prop::collection::vec((0..9_usize, any::<String>()), 0..3);
    let times = prop::collection::vec(figure(), 0..9);
    let replay = (times, events).prop_map(|(taken_at_s, events)| Recorded { taken_at_s, events });
    let fields = (
        prop::option::of(any::<String>()),
        any::<bool>(),
        prop::option::of(replay),
    );
    fields.prop_map(|(target, is_ascii, replay)| Options {
        target,
        is_ascii,
        replay,
        ..Options::default()
    })
}

fn input() -> impl Strategy<Value = Input> {
    let key = prop_oneof![
        any::<char>().prop_map(Key::Character),
        prop::sample::select("q?/s+- 123jk=vtcidp[]:".chars().collect::<Vec<_>>())
            .prop_map(Key::Character),
        prop::sample::select(vec![
            Key::Up,
            Key::Down,
            Key::Left,
            Key::Right,
            Key::PageUp,
            Key::PageDown,
            Key::Home,
            Key::End,
            Key::Enter,
            Key::Escape,
            Key::Tab,
            Key::Backspace,
            Key::Interrupt,
        ]),
    ];
    prop_oneof![
        4 => key.prop_map(Input::Key),
        2 => snapshot().prop_map(|it| Input::Snapshot(Box::new(it))),
        1 => (any::<u16>(), any::<u16>()).prop_map(|(width, height)| Input::Resize(width, height)),
        1 => any::<String>().prop_map(Input::Ended),
        1 => any::<String>().prop_map(Input::Said),
        1 => snapshot().prop_map(|it| Input::Passed(Box::new(it))),
        1 => Just(Input::Rewound),
        2 => mouse().prop_map(Input::Mouse),
    ]
}

proptest! {
    #[test]
    fn any_input_at_any_size_is_drawn(
        options in options(),
        inputs in prop::collection::vec(input(), 0..30),
        width in 1..220_u16,
        height in 1..70_u16,
    ) {
        let is_ascii = options.is_ascii;
        let mut view = View::new(options);
        for input in inputs {
            view.update(input);
            view.attention();
            let cells = buffer(&view, width, height);
            let hostile = |text: &str| text.chars().any(char::is_control);
            prop_assert!(!cells.content.iter().any(|cell| hostile(cell.symbol())));
            let mut cells = cells.content.iter();
            prop_assert!(!is_ascii || cells.all(|cell| cell.symbol().is_ascii()));
        }
    }

    #[test]
    fn the_plain_text_of_any_snapshot_is_plain(
        before in prop::option::of(snapshot()),
        now in snapshot(),
        width in 0..200_usize,
        is_ascii: bool,
    ) {
        let snapshots = before.into_iter().chain([now]);
        let text = watch::plain_text(snapshots, width, is_ascii).unwrap();
        prop_assert!(!is_ascii || text.is_ascii());
        prop_assert!(!text.chars().any(|it| it.is_control() && it != '\n'));
    }
}

//! Any result renders: without panic, on its own lines, deterministically.

use model::{
    CpuId, CurveLevel, CurvePoint, Finding, LatencyCurve, LatencyResult, MatrixCell, NodeId,
    NodeMatrix, PageKind, Severity, TransferMatrix,
};
use proptest::prelude::*;
use report::{
    TextOptions, curves_csv, latency_curve_text, latency_document, latency_text,
    latency_transfers_text, matrix_csv, transfers_csv,
};

fn any_cell() -> impl Strategy<Value = MatrixCell> {
    let figure = || prop::option::of(any::<f64>());
    (
        figure(),
        figure(),
        figure(),
        any::<bool>(),
        prop::option::of("\\PC{0,9}"),
    )
        .prop_map(
            |(value, low, high, is_unsteady, absent_because)| MatrixCell {
                value,
                low,
                high,
                values: 5,
                is_unsteady,
                absent_because,
                confidence: None,
            },
        )
}

fn any_matrix() -> impl Strategy<Value = NodeMatrix> {
    (0usize..5, 0usize..40).prop_flat_map(|(rows, columns)| {
        let ids = |count| prop::collection::vec((0u32..70_000).prop_map(NodeId), count);
        let cells = prop::collection::vec(prop::collection::vec(any_cell(), columns), rows);
        (ids(rows), ids(columns), cells)
            .prop_map(|(rows, columns, cells)| NodeMatrix::new(rows, columns, cells).unwrap())
    })
}

fn any_curve() -> impl Strategy<Value = LatencyCurve> {
    let point = (any::<u64>(), any::<f64>()).prop_map(|(bytes, ns)| CurvePoint {
        bytes,
        ns,
        ns_min: ns,
        ns_max: ns,
    });
    let level = (any::<f64>(), prop::option::of(any::<u64>()))
        .prop_map(|(ns, fits_bytes)| CurveLevel { ns, fits_bytes });
    let points = prop::collection::vec(point, 0..9);
    (points, prop::collection::vec(level, 0..4)).prop_map(|(points, levels)| LatencyCurve {
        cpu_node: NodeId(0),
        memory_node: NodeId(1),
        cpu: CpuId(2),
        page_kind: PageKind::Small,
        page_bytes: 4096,
        points,
        levels,
    })
}

fn any_transfers() -> impl Strategy<Value = TransferMatrix> {
    (0usize..20).prop_flat_map(|count| {
        let row = prop::collection::vec(prop::option::of(any::<f64>()), count);
        prop::collection::vec(row, count).prop_map(move |ns| TransferMatrix {
            home_node: NodeId(0),
            cpus: (0..count as u32).map(CpuId).collect(),
            ns,
        })
    })
}

fn any_result() -> impl Strategy<Value = LatencyResult> {
    (any_matrix(), any_curve(), any_transfers(), "\\PC{0,30}").prop_map(
        |(matrix, curve, transfers, text)| LatencyResult {
            file: Some(text.clone()),
            note: Some(text.clone()),
            matrix,
            curves: vec![curve],
            transfers: vec![transfers],
            findings: vec![Finding {
                id: "x".to_owned(),
                severity: Severity::Error,
                message: text,
                ..Finding::default()
            }],
            ..LatencyResult::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_result_renders(result in any_result(), width in 0usize..200, color: bool) {
        let options = TextOptions { width, color };
        let render = || {
            [
                latency_text(&result, &options),
                latency_curve_text(&result, &options),
                latency_transfers_text(&result, &options),
                serde_json::to_string(&latency_document(&result)).unwrap(),
                matrix_csv(&result.matrix),
                curves_csv(&result.curves),
                transfers_csv(&result.transfers),
            ]
        };
        let texts = render();
        prop_assert_eq!(&texts, &render());
        let is_fine = |letter: char| letter == '\n' || letter == '\u{1b}' || !letter.is_control();
        prop_assert!(texts.iter().all(|text| text.chars().all(is_fine)));
    }
}

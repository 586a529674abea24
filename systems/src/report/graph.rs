//! Dump the graph: what the flow graph looks like at a point of the pipeline.
//!
//! Source phase  none: option flags 20 and 24, and the knobs DumpCFG and DumpRPO, put one after a phase
//!               (basic-blocks-and-cfg, "CFG Visualization", "RPO Debug Dump")
//! Reads         Blocks, LoopNests
//! Writes        Dumps
//! Needs         control-flow facts, the loop nest
//! Leaves        nothing
//! Breaks        nothing
//! Cost          the text
//! Checked by    the engine's tests of [`ptxopt_engine::graph::dump`]

use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::dump;
use ptxopt_engine::graph::nest::LoopNests;
use ptxopt_engine::ptx::writer::{WriterScratch, write_function};
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::Dumps;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;

const BASE: Phase =
    Phase { name: "dump_graph", needs: &[Fact::ControlFlow], install: |_| {}, ..Phase::NOTHING };

/// The graph in DOT.
pub static DOT: Phase = Phase {
    install: |slot| slot.add(|code: Code, dumps: ResMut<Dumps>| each(code, dumps, dump::dot)),
    ..BASE
};

/// Ranks and back edges.
pub static RANKS: Phase = Phase {
    install: |slot| {
        slot.add(|code: Code, dumps: ResMut<Dumps>| each(code, dumps, dump::ranks_and_back_edges))
    },
    ..BASE
};

/// The graph in DOT with ranks and back edges after it.
pub static DOT_AND_RANKS: Phase = Phase {
    install: |slot| {
        slot.add(|code: Code, dumps: ResMut<Dumps>| {
            each(code, dumps, |function, out| {
                dump::dot(function, out)?;
                dump::ranks_and_back_edges(function, out)
            });
        });
    },
    ..BASE
};

/// The edges, one a line.
pub static EDGES: Phase = Phase {
    install: |slot| slot.add(|code: Code, dumps: ResMut<Dumps>| each(code, dumps, dump::edges)),
    ..BASE
};

/// The dominator tree.
pub static DOMINATORS: Phase = Phase {
    install: |slot| slot.add(|code: Code, dumps: ResMut<Dumps>| each(code, dumps, dump::dominator_tree)),
    ..BASE
};

/// The loop nest.
pub static LOOPS: Phase = Phase {
    needs: &[Fact::Loops],
    install: |slot| {
        slot.init_resource::<LoopNests>();
        slot.add(|code: Code, nests: Res<LoopNests>, dumps: ResMut<Dumps>| {
            each(code, dumps, |function, out| match nests.get(function.code) {
                Some(nest) => dump::loop_nest(function, nest, out),
                None => Ok(()),
            });
        });
    },
    ..BASE
};

/// The code as text.
pub static CODE: Phase = Phase { install: |slot| slot.add(dump_code), ..BASE };

fn each(
    code: Code,
    mut dumps: ResMut<Dumps>,
    write: impl Fn(&FunctionView<'_>, &mut String) -> std::fmt::Result,
) {
    let mut text = String::new();
    for function in code.view().functions() {
        if !function.state.flags.contains(CodeFlags::LEFT)
            && function.state.flags.contains(CodeFlags::SELECTED)
        {
            write(&function, &mut text).expect("memory takes every text");
        }
    }
    dumps.text.extend_from_slice(text.as_bytes());
}

fn dump_code(code: Code, forms: Res<FormTable>, mut dumps: ResMut<Dumps>) {
    let mut writer = WriterScratch::default();
    let Dumps { source, text, .. } = &mut *dumps;
    for function in code.view().functions() {
        write_function(&function, &forms, source, &mut writer, text);
        text.push(b'\n');
    }
}

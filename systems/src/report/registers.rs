//! Dump registers: live sets, register pressure and uniformity at a point of the pipeline.
//!
//! Source phase  none: `ptxopt analyze --print liveness,pressure,uniformity`
//! Reads         Blocks, Insts, VRegs, LiveSets
//! Writes        Dumps
//! Needs         control-flow facts, live sets, uniformity
//! Leaves        nothing
//! Breaks        nothing
//! Cost          the text
//! Checked by    the engine's tests of [`ptxopt_engine::dataflow::print`]

use bevy_ecs::prelude::*;
use ptxopt_components::code_object::CodeFlags;
use ptxopt_engine::dataflow::liveness::{LiveSet, LiveSets};
use ptxopt_engine::dataflow::pressure::Pressure;
use ptxopt_engine::dataflow::print::{self, Lines};
use ptxopt_engine::dataflow::uniformity::{self, Uniformities};
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::run::facts::Fact;
use ptxopt_engine::run::log::Dumps;
use ptxopt_engine::run::phase::Phase;
use ptxopt_engine::store::columns::Code;
use ptxopt_engine::store::view::FunctionView;

/// The live sets at both ends of each block.
pub static LIVENESS: Phase = Phase {
    name: "dump_registers",
    needs: &[Fact::ControlFlow, Fact::Liveness],
    install: |slot| {
        slot.init_resource::<LiveSets>();
        slot.add(dump_liveness);
    },
    ..Phase::NOTHING
};

/// The pressure at each instruction, its peaks, and what spilling each register would cost.
pub static PRESSURE: Phase = Phase {
    install: |slot| {
        slot.init_resource::<LiveSets>();
        slot.add(dump_pressure);
    },
    ..LIVENESS
};

/// Which registers and branches are uniform.
pub static UNIFORMITY: Phase = Phase {
    needs: &[Fact::ControlFlow, Fact::Uniformity],
    install: |slot| {
        slot.init_resource::<Uniformities>();
        slot.add(dump_uniformity);
    },
    ..LIVENESS
};

fn dump_uniformity(code: Code, forms: Res<FormTable>, verdicts: Res<Uniformities>, mut dumps: ResMut<Dumps>) {
    let mut text = String::new();
    for function in code.view().functions() {
        if let Some(verdicts) =
            verdicts.get(function.code).filter(|_| !function.state.flags.contains(CodeFlags::LEFT))
        {
            let source = (&dumps.source[..], dumps.lines());
            uniformity::print::write(&function, &forms, source, verdicts, &mut text);
        }
    }
    dumps.text.extend_from_slice(text.as_bytes());
}

fn dump_liveness(code: Code, sets: Res<LiveSets>, mut dumps: ResMut<Dumps>) {
    each(code, &sets, &mut dumps, |function, (text, _), set, out| print::liveness(function, text, set, out));
}

fn dump_pressure(code: Code, forms: Res<FormTable>, sets: Res<LiveSets>, mut dumps: ResMut<Dumps>) {
    let mut pressure = Pressure::default();
    each(code, &sets, &mut dumps, |function, source, set, out| {
        pressure.build(function, &forms, set);
        print::pressure(function, &forms, source, &pressure, out);
    });
}

fn each(
    code: Code,
    sets: &LiveSets,
    dumps: &mut Dumps,
    mut write: impl FnMut(&FunctionView<'_>, (&[u8], &Lines), &LiveSet, &mut String),
) {
    let mut text = String::new();
    for function in code.view().functions() {
        let set = sets.get(function.code);
        if let Some(set) = set.filter(|_| !function.state.flags.contains(CodeFlags::LEFT)) {
            write(&function, (&dumps.source, dumps.lines()), set, &mut text);
        }
    }
    dumps.text.extend_from_slice(text.as_bytes());
}

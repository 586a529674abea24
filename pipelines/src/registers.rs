//! Registers of the kernels of a module: what the assembler will report of them.
//!
//! The module is taken as it stands: given the text that came in, the answer is about that, and given the text that the
//! optimizer wrote, about that one. Nothing is changed.

use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::ids::{CodeId, Id, NameId};
use ptxopt_engine::diagnostics::Diagnostic;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::graph::analyze::{AnalysisScratch, annotate};
use ptxopt_engine::graph::edges::Graph;
use ptxopt_engine::graph::nest::{LoopNest, NestScratch, build_nest};
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::{FunctionText, Module};
use ptxopt_engine::store::tables::CodeTables;
use ptxopt_systems::registers::{Callees, Estimator, Features, Promises, forecast, promises_of};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

use crate::report::{plain_table, right_align, trimmed};

/// What is forecast of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelRegisters {
    /// Its name.
    pub name: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Registers that do not fit what it may take.
    pub spills: u32,
    /// Warps that an SM holds, in percent of the most that it could.
    pub occupancy: u32,
    /// Most registers that it may take.
    pub budget: u32,
    /// Slots of 32 bits that the values get.
    #[serde(skip)]
    pub allocated: u32,
    /// What the forecast was made of.
    #[serde(skip)]
    pub features: Features,
    /// What it calls.
    #[serde(skip)]
    pub callees: Callees,
    /// What its header promises.
    #[serde(skip)]
    pub promises: Promises,
    /// The processor, 90 of `sm_90`; 0 where none is named.
    #[serde(skip)]
    pub sm: u32,
}

/// One function, as far as others that call it have to know.
struct Known {
    features: Features,
    promises: Promises,
    allocated: u32,
    /// Names of each call, that of the function among them, and slots that live across.
    calls: Vec<(Vec<Vec<u8>>, u32)>,
}

/// Forecasts the kernels of a module, in the order of its text. `command_line` is `--maxrregcount`.
///
/// # Errors
/// The first thing in the text that no assembler would take.
pub fn registers(text: &[u8], command_line: Option<u32>) -> Result<Vec<KernelRegisters>, Diagnostic> {
    let module = Module::scan(text)?;
    let mut functions = Functions::default();
    let known: Vec<Option<Known>> = module
        .functions
        .iter()
        .map(|function| functions.look_at(&module, text, function))
        .collect::<Result<_, _>>()?;
    let by_name: HashMap<&[u8], &Known> = module
        .functions
        .iter()
        .zip(&known)
        .filter_map(|(function, known)| Some((&text[function.name.range()], known.as_ref()?)))
        .collect();
    let kernels = module.functions.iter().zip(&known).filter(|(function, _)| function.is_entry);
    let of_kernel = |(function, known): (&FunctionText, &Option<Known>)| {
        let known = known.as_ref()?;
        let callees = callees_of(known, &by_name);
        let found = forecast(&known.features, callees, functions.sm, known.promises, command_line);
        Some(KernelRegisters {
            name: String::from_utf8_lossy(&text[function.name.range()]).into_owned(),
            registers: found.registers,
            spills: found.spills,
            occupancy: found.warps * 100 / found.warps_max,
            budget: found.budget,
            allocated: known.allocated,
            features: known.features,
            callees,
            promises: known.promises,
            sm: functions.sm,
        })
    };
    Ok(kernels.filter_map(of_kernel).collect())
}

/// What a kernel calls, with the slots that live across the calls on the way there. Of functions that call one another each counts once
/// more on a way, without what it calls itself.
fn callees_of(kernel: &Known, by_name: &HashMap<&[u8], &Known>) -> Callees {
    /// A function whose calls are followed: how many of them were, and the most slots that those take.
    struct Open<'a> {
        name: &'a [u8],
        known: &'a Known,
        followed: usize,
        slots: u32,
    }
    let mut callees = Callees::default();
    // By function: the most slots that its calls take, once they were followed.
    let mut done: HashMap<&[u8], Option<u32>> = HashMap::new();
    let mut path = vec![Open { name: b"", known: kernel, followed: 0, slots: 0 }];
    while let Some(open) = path.last_mut() {
        let Some((names, across)) = open.known.calls.get(open.followed) else {
            done.insert(open.name, Some(open.slots));
            callees.slots = open.slots;
            path.pop();
            continue;
        };
        let Some((&name, &callee)) = names.iter().find_map(|name| by_name.get_key_value(&name[..])) else {
            callees.is_extern = true;
            open.followed += 1;
            continue;
        };
        callees.is_known = true;
        let of_its_calls = match done.get(name) {
            Some(slots) => slots.unwrap_or(0),
            None => {
                done.insert(name, None);
                path.push(Open { name, known: callee, followed: 0, slots: 0 });
                continue;
            }
        };
        open.slots = open.slots.max(across + of_its_calls.max(callee.features.with_uniform));
        open.followed += 1;
    }
    callees
}

/// Reads functions one by one and looks at them.
#[derive(Default)]
struct Functions {
    tables: CodeTables,
    forms: FormTable,
    reader: ReaderScratch,
    analysis: AnalysisScratch,
    nest: LoopNest,
    nests: NestScratch,
    estimator: Estimator,
    sm: u32,
}

impl Functions {
    /// What is known of a function; nothing where its text is kept as it is.
    fn look_at(
        &mut self,
        module: &Module<'_>,
        text: &[u8],
        function: &FunctionText,
    ) -> Result<Option<Known>, Diagnostic> {
        let Self { tables, forms, reader, analysis, nest, nests, estimator, sm } = self;
        read(module, std::slice::from_ref(function), forms, reader, tables)?;
        let blocks = tables.code_spans[0].blocks.range();
        let graph = Graph { edges: &tables.block_edges[blocks.clone()], pool: &tables.pools.edges };
        let (heads, orders) = (&mut tables.block_heads[blocks.clone()], &mut tables.block_orders[blocks]);
        annotate(graph, heads, orders, analysis);
        build_nest(graph, heads, orders, nests, nest);
        let function = tables.view().function(CodeId::new(0));
        if function.state.flags.contains(CodeFlags::LEFT) {
            return Ok(None);
        }
        *sm = function.text.sm;
        let features = estimator.look_at(&function, forms, nest);
        let name = |name| tables.pools.names.bytes(text, name).to_vec();
        let allocated = estimator.allocated(&function).unwrap_or(features.need);
        let names = |names: &[NameId]| names.iter().map(|&one| name(one)).collect();
        let calls = estimator.calls.iter().map(|call| (names(&call.names), call.across)).collect();
        Ok(Some(Known { features, promises: promises_of(&function), allocated, calls }))
    }
}

/// The table of `ptxopt analyze --print registers`. Slots of 32 bits say what the forecast was made of: at the peak of the
/// code as it stands, when values have their places, of uniform values there, when loads go early, and when loops are unrolled.
pub(crate) fn table<'a>(kernels: impl Iterator<Item = &'a KernelRegisters>) -> String {
    let heading = [
        "kernel",
        "registers",
        "budget",
        "spills",
        "occupancy",
        "need",
        "allocated",
        "uniform",
        "early loads",
        "unrolled",
    ];
    let mut table = plain_table(&heading);
    for KernelRegisters { name, registers, spills, occupancy, budget, features, allocated, .. } in kernels {
        let Features { need, with_uniform, held, hoisted, unrolled, .. } = *features;
        let slots = [need, *allocated, with_uniform - need.min(with_uniform), held.max(hoisted), unrolled];
        let slots = slots.map(|count| count.to_string());
        let found = [registers.to_string(), budget.to_string(), spills.to_string(), format!("{occupancy} %")];
        table.add_row(std::iter::once(name.clone()).chain(found).chain(slots));
    }
    right_align(&mut table, &(1..heading.len()).collect::<Vec<_>>());
    trimmed(&table)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

    fn of(body: &str) -> Vec<KernelRegisters> {
        registers(format!("{HEAD}{body}").as_bytes(), None).unwrap_or_else(|error| panic!("{error:?}"))
    }

    #[test]
    fn a_kernel_takes_what_it_calls() {
        let body = "mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, %r1; call f; add.u32 %r3, %r2, %r1; st.global.u32 [g], %r3; ret;";
        let kernels = of(&format!(
            ".global .u32 g;\n.func f() {{\n.reg .b32 %r<3>;\nmov.u32 %r1, %tid.x; ld.global.u32 %r2, [g];\n\
             add.u32 %r1, %r1, %r2; st.global.u32 [g], %r1; ret;\n}}\n\
             .entry k() {{\n.reg .b32 %r<4>;\n{body}\n}}\n.entry alone() {{\nret;\n}}\n"
        ));
        assert_eq!(kernels.iter().map(|kernel| &kernel.name[..]).collect::<Vec<_>>(), ["k", "alone"]);
        assert_eq!(kernels[0].callees, Callees { slots: 2 + 2, is_known: true, is_extern: false });
        assert_eq!(kernels[1].callees, Callees::default());
        // What `ptxas` reports where nothing takes a register, for every target.
        assert_eq!(kernels[1].registers, 4);
        assert!(kernels[0].registers >= 8);
    }

    /// Plain decimal numbers, and no word of a comment.
    #[test]
    fn a_header_says_what_the_reader_reads() {
        let of = |header: &str| of(&format!(".entry k() {header} {{\nret;\n}}\n"))[0].promises;
        let promises = |registers, threads, blocks| Promises { registers, threads, blocks };
        assert_eq!(of(".maxnreg 32"), promises(32, 0, 0));
        assert_eq!(of(".maxnreg 0x20"), promises(0, 0, 0), "not 0");
        assert_eq!(of(".maxntid 256, 2 .minnctapersm /* of 4 */ 2"), promises(0, 512, 2));
        assert_eq!(of("/* .maxnreg 32 */"), promises(0, 0, 0));
        assert_eq!(of(".reqntid 16, 4"), promises(0, 64, 0));
        assert_eq!(of(".reqntid 4194305, 1024"), promises(0, 0, 0), "more than there are");
    }

    /// `f` calls what is largest, and is met first where nothing lives around it.
    #[test]
    fn a_function_that_is_called_twice_counts_with_the_most_around_it() {
        let alive = |first: u32| {
            (first..first + 6).map(|n| format!("ld.global.u32 %r{n}, [g+{}];", 4 * n)).collect::<String>()
        };
        let stored = |first: u32| {
            (first..first + 6).map(|n| format!("st.global.u32 [g+{}], %r{n};", 4 * n)).collect::<String>()
        };
        let around = |callee: &str| format!(".reg .b32 %r<6>;\n{}call {callee};{}ret;", alive(0), stored(0));
        let large = format!(".reg .b32 %r<12>;\n{}{}{}{}ret;", alive(0), alive(6), stored(0), stored(6));
        let text = |calls: &str| {
            format!(
                ".global .u32 g[12];\n.func h() {{\n{large}\n}}\n.func f() {{\ncall h;\nret;\n}}\n.func m() {{\n{}\n}}\n\
             .entry k() {{\n{calls}\nret;\n}}\n",
                around("f")
            )
        };
        let slots = |calls: &str| of(&text(calls))[0].callees.slots;
        assert_eq!(slots("call m;"), slots("call f; call m;"));
        assert_eq!(slots("call m;"), slots("call m; call f;"));
        assert_eq!(slots("call m;"), slots("call f;") + 6);
    }

    /// Functions that call one another come to an end.
    #[test]
    fn recursion_ends() {
        let kernels = of(
            ".func f();\n.func g() {\ncall f;\nret;\n}\n.func f() {\ncall g;\nret;\n}\n.entry k() {\ncall f;\nret;\n}\n",
        );
        assert!(kernels[0].callees.is_known);
    }

    #[test]
    fn what_is_wrong_is_an_error() {
        assert!(registers(b".version 8.6\n.target sm_90\n.entry k() {\nadd.u32 %r1, %r2;\n", None).is_err());
    }
}

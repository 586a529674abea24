//! Calls and functions.

use super::conditions::negated;
use super::instructions::width;
use super::{Level, Writer};
use crate::tree::{Call, Class, Cond, Convention, Def, Function, Operand, Program, Reg};

/// Whether the module is assembled without the ABI, as a function with several `.reg` results makes it. Then there is
/// neither recursion nor an indirect call.
pub(crate) fn lacks_abi(program: &Program) -> bool {
    program.functions.iter().any(has_many_registers)
}

fn has_many_registers(function: &Function) -> bool {
    function.convention == Convention::Registers && function.results.len() > 1
}

/// The classes of all parameters: those of the tree, the pointer to the slots, the depth.
fn parameter_classes(function: &Function) -> Vec<Class> {
    let mut classes = function.parameters.clone();
    classes.extend(function.has_memory.then_some(Class::L));
    classes.extend(function.is_recursive.then_some(Class::R));
    classes
}

/// The registers that a function hands back: with a `.param` there is one at most.
fn result_registers(function: &Function) -> &[Reg] {
    let count = if function.convention == Convention::Params { 1 } else { usize::MAX };
    &function.results[..function.results.len().min(count)]
}

/// Whether an end is guarded itself, rather than branched around.
pub(crate) fn is_guard_of_end(predicate: &str) -> bool {
    predicate.ends_with(['0', '2', '4', '6', '8'])
}

/// The name of a function.
pub(crate) fn function_name(index: usize) -> String {
    format!("function_{index}")
}

/// A `.param` type: that of a register, bits only.
fn param_type(class: Class) -> &'static str {
    match class {
        Class::H => ".b16",
        Class::R => ".b32",
        Class::L => ".b64",
        other => other.register_type(),
    }
}

fn struct_param(name: &str, fields: usize) -> String {
    format!(".param .align 8 .b8 {name}[{}]", fields * 8)
}

/// The formal parts of a signature: results and parameters. Names are those of the function's own registers.
fn signature(function: &Function, is_prototype: bool) -> (Vec<String>, Vec<String>) {
    let classes = parameter_classes(function);
    let results = result_registers(function);
    let name = |name: String| if is_prototype { "_".to_owned() } else { name };
    match function.convention {
        Convention::Params => (
            results
                .iter()
                .map(|reg| format!(".param {} {}", param_type(reg.class), name("result".to_owned())))
                .collect(),
            (0..)
                .zip(&classes)
                .map(|(at, &class)| format!(".param {} {}", param_type(class), name(format!("a{at}"))))
                .collect(),
        ),
        Convention::Struct => (
            (!results.is_empty())
                .then(|| struct_param(&name("result".to_owned()), results.len()))
                .into_iter()
                .collect(),
            (!classes.is_empty())
                .then(|| struct_param(&name("a".to_owned()), classes.len()))
                .into_iter()
                .collect(),
        ),
        Convention::Registers => (
            (0..)
                .zip(results)
                .map(|(at, reg)| {
                    format!(".reg {} {}", reg.class.register_type(), name(format!("%result{at}")))
                })
                .collect(),
            (0..)
                .zip(&classes)
                .map(|(at, &class)| format!(".reg {} {}", class.register_type(), name(format!("%a{at}"))))
                .collect(),
        ),
    }
}

/// The head of a function's definition or declaration.
pub(crate) fn function_head(program: &Program, index: usize) -> String {
    let (results, parameters) = signature(&program.functions[index], false);
    let results = if results.is_empty() { String::new() } else { format!("({}) ", results.join(", ")) };
    format!(".func {results}{}({})", function_name(index), parameters.join(", "))
}

impl Writer<'_> {
    /// A call; nothing where the function wants whole warps and they are not here.
    pub fn call(&mut self, call: &Call) {
        let index = usize::from(call.function);
        let Some(function) = self.program.functions.get(index) else { return };
        let is_self = self.function == Some(index);
        // Functions call earlier ones, so calls end.
        let is_callable =
            self.function.is_none_or(|caller| index < caller || is_self && function.is_recursive);
        let is_alone = matches!(self.level, Level::Thread) || self.lanes() != Some(self.full_mask());
        let lacks_memory = function.has_memory && !self.has_own_slots();
        if !is_callable
            || function.is_convergent && is_alone
            || lacks_memory
            || is_self && lacks_abi(self.program)
        {
            return;
        }
        self.module.functions.insert(call.function);
        if is_self {
            self.call_deeper(call, function);
        } else {
            self.call_with(call, function, &call.depth.to_string());
        }
    }

    fn has_own_slots(&self) -> bool {
        self.function.is_none_or(|caller| self.program.functions[caller].has_memory)
    }

    /// A call of the function itself, while there is depth left.
    fn call_deeper(&mut self, call: &Call, function: &Function) {
        let depth = self.base("depth");
        let is_left = self.compare("gt.s32", &depth, "0");
        let skip = self.fresh_label();
        self.jump(Some(&negated(&is_left)), false, &skip);
        let less = self.temp(Class::R);
        self.line(format!("sub.s32 {less}, {depth}, 1;"));
        self.call_with(call, function, &less);
        self.label(&skip);
    }

    fn call_with(&mut self, call: &Call, function: &Function, depth: &str) {
        let mut arguments = Vec::new();
        for (&class, at) in function.parameters.iter().zip(0..) {
            let operand = call.arguments.get(at).copied().unwrap_or(Operand::Imm(0));
            arguments.push(self.operand(operand, class, '='));
        }
        if function.has_memory {
            arguments.push(self.base("own"));
        }
        if function.is_recursive {
            let register = self.temp(Class::R);
            self.line(format!("mov.b32 {register}, {depth};"));
            arguments.push(register);
        }
        let slots: Vec<(Class, bool)> =
            result_registers(function).iter().map(|reg| (reg.class, false)).collect();
        let defs: Vec<Def> =
            (0..slots.len()).map(|at| call.results.get(at).copied().unwrap_or(Def::Nowhere)).collect();
        let defs = self.definitions(&defs, &slots);
        match function.convention {
            Convention::Registers => {
                let guard = self.call_guard(call, function);
                self.transfer(call, function, &guard, &defs, &arguments);
            }
            convention => self.call_by_params(call, function, convention, &slots, &defs, &arguments),
        }
    }

    /// The call itself, between `st.param` and `ld.param`.
    fn call_by_params(
        &mut self,
        call: &Call,
        function: &Function,
        convention: Convention,
        slots: &[(Class, bool)],
        defs: &[String],
        arguments: &[String],
    ) {
        let classes = parameter_classes(function);
        self.line("{");
        let (mut passed, mut received) = (Vec::new(), Vec::new());
        if convention == Convention::Struct {
            if !classes.is_empty() {
                self.line(format!("{};", struct_param("passed", classes.len())));
                passed.push("passed".to_owned());
            }
            if !slots.is_empty() {
                self.line(format!("{};", struct_param("received", slots.len())));
                received.push("received".to_owned());
            }
        } else {
            for (at, &class) in classes.iter().enumerate() {
                self.line(format!(".param {} passed{at};", param_type(class)));
                passed.push(format!("passed{at}"));
            }
            for &(class, _) in slots {
                self.line(format!(".param {} received;", param_type(class)));
                received.push("received".to_owned());
            }
        }
        let field = |name: &str, at: usize| {
            if convention == Convention::Struct {
                format!("[{name}+{}]", at * 8)
            } else {
                format!("[{name}{at}]")
            }
        };
        for (at, (&class, argument)) in classes.iter().zip(arguments).enumerate() {
            self.line(format!("st.param{} {}, {argument};", param_type(class), field("passed", at)));
        }
        // A guarded call leaves its result as it was, which a `.param` cannot say: only calls without results are guarded.
        let guard = if slots.is_empty() { self.call_guard(call, function) } else { String::new() };
        self.transfer(call, function, &guard, &received, &passed);
        for (at, (&(class, _), def)) in slots.iter().zip(defs).enumerate() {
            let at = if convention == Convention::Struct {
                field("received", at)
            } else {
                "[received]".to_owned()
            };
            self.line(format!("ld.param{} {def}, {at};", param_type(class)));
        }
        self.line("}");
    }

    /// The guard of a call. Threads that call together are not parted by one.
    fn call_guard(&mut self, call: &Call, function: &Function) -> String {
        if function.is_convergent { String::new() } else { self.guard_prefix(call.guard) }
    }

    fn transfer(
        &mut self,
        call: &Call,
        function: &Function,
        guard: &str,
        results: &[String],
        arguments: &[String],
    ) {
        let name = function_name(usize::from(call.function));
        let results = if results.is_empty() { String::new() } else { format!("({}), ", results.join(", ")) };
        let arguments = format!("({})", arguments.join(", "));
        let may_be_indirect = function.convention != Convention::Registers && !lacks_abi(self.program);
        if !call.is_indirect || !may_be_indirect {
            let uni = if guard.is_empty() && self.level == Level::Block { ".uni" } else { "" };
            return self.line(format!("{guard}call{uni} {results}{name}, {arguments};"));
        }
        let (address, prototype) = (self.temp(Class::L), self.fresh_label());
        let (formal_results, formals) = signature(function, true);
        let formal_results = if formal_results.is_empty() {
            String::new()
        } else {
            format!("({}) ", formal_results.join(", "))
        };
        self.line(format!("mov.u64 {address}, {name};"));
        self.lines.push(format!("{prototype}: .callprototype {formal_results}_ ({});", formals.join(", ")));
        self.line(format!("{guard}call {results}{address}, {arguments}, {prototype};"));
    }

    /// Loads a parameter of the function.
    pub fn load_parameter(&mut self, function: &Function, at: usize, class: Class, register: &str) {
        match function.convention {
            Convention::Params => self.line(format!("ld.param{} {register}, [a{at}];", param_type(class))),
            Convention::Struct => {
                self.line(format!("ld.param{} {register}, [a+{}];", param_type(class), at * 8))
            }
            Convention::Registers => {
                let kind = if matches!(class, Class::F | Class::D) { "f" } else { "b" };
                self.line(format!("mov.{kind}{} {register}, %a{at};", width(class)));
            }
        }
    }

    /// Hands the results back.
    pub fn hand_back(&mut self, function: &Function) {
        for (at, &reg) in result_registers(function).iter().enumerate() {
            let register = self.reg(reg);
            match function.convention {
                Convention::Params => {
                    self.line(format!("st.param{} [result], {register};", param_type(reg.class)))
                }
                Convention::Struct => {
                    self.line(format!("st.param{} [result+{}], {register};", param_type(reg.class), at * 8));
                }
                Convention::Registers => {
                    let kind = if matches!(reg.class, Class::F | Class::D) { "f" } else { "b" };
                    self.line(format!("mov.{kind}{} %result{at}, {register};", width(reg.class)));
                }
            }
        }
    }

    /// An early return from a function that threads may leave one by one.
    pub fn early_return(&mut self, cond: &Cond) {
        let Some(function) = self.function.map(|index| &self.program.functions[index]) else { return };
        if function.is_convergent {
            return;
        }
        let Some(predicate) = self.predicate(cond) else {
            self.hand_back(function);
            return self.line("ret;");
        };
        if is_guard_of_end(&predicate) {
            // Results are set for all; threads that stay set them again.
            self.hand_back(function);
            return self.line(format!("@{predicate} ret;"));
        }
        let stay = self.fresh_label();
        self.jump(Some(&negated(&predicate)), false, &stay);
        self.hand_back(function);
        self.line("ret;");
        self.label(&stay);
    }
}

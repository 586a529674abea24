//! Reader and writer without anything between.

use ptxopt_components::code_object::CodeFlags;
use ptxopt_components::form::FormFlags;
use ptxopt_components::ids::{FormId, Id};
use ptxopt_engine::diagnostics::Diagnostic;
use ptxopt_engine::forms::FormTable;
use ptxopt_engine::ptx::reader::{ReaderScratch, read};
use ptxopt_engine::ptx::scan::Module;
use ptxopt_engine::ptx::writer::{WriterScratch, assemble, write_function};
use ptxopt_engine::store::tables::CodeTables;

/// A module that was read and written.
pub struct Rewritten {
    /// What was written.
    pub text: Vec<u8>,
    /// Every form of the module, as mnemonic and shape.
    pub forms: Vec<String>,
    /// Those among them that the opcode table does not describe.
    pub unmodelled: Vec<String>,
    /// Functions that were copied because rows cannot say what they hold.
    pub left: Vec<String>,
    /// Instructions of each function.
    pub instruction_counts: Vec<usize>,
}

/// Memory for many modules, as a batch has it.
#[derive(Default)]
pub struct Rewriter {
    reader: ReaderScratch,
    writer: WriterScratch,
    tables: CodeTables,
}

impl Rewriter {
    /// Reads and writes a module.
    ///
    /// # Errors
    /// The reader's.
    pub fn rewrite(&mut self, text: &[u8]) -> Result<Rewritten, Diagnostic> {
        let Self { reader, writer, tables } = self;
        let module = Module::scan(text)?;
        // Forms are those of this module alone.
        let mut forms = FormTable::default();
        read(&module, &module.functions, &mut forms, reader, tables)?;
        let mut functions = Vec::new();
        let mut left = Vec::new();
        for function in tables.view().functions() {
            let mut out = Vec::new();
            write_function(&function, &forms, text, writer, &mut out);
            functions.push(out);
            if function.state.flags.contains(CodeFlags::LEFT) {
                left.push(String::from_utf8_lossy(&text[function.text.name.range()]).into_owned());
            }
        }
        let mut out = Vec::new();
        assemble(&module, functions.iter().map(Vec::as_slice), false, &mut out);
        let name = |form: FormId| {
            let (mnemonic, shape) = (forms.mnemonic_text(form), forms.shape(form));
            format!("{} {}", String::from_utf8_lossy(mnemonic), String::from_utf8_lossy(shape))
        };
        let ids = (0..forms.len()).map(FormId::new);
        let is_modelled = |form: &FormId| forms.get(*form).flags.contains(FormFlags::MODELLED);
        Ok(Rewritten {
            text: out,
            forms: ids.clone().map(name).collect(),
            unmodelled: ids.filter(|form| !is_modelled(form)).map(name).collect(),
            left,
            instruction_counts: tables.code_spans.iter().map(|spans| spans.insts.len()).collect(),
        })
    }
}

/// Reads and writes a module with fresh memory.
///
/// # Errors
/// The reader's.
pub fn rewrite(text: &[u8]) -> Result<Rewritten, Diagnostic> {
    Rewriter::default().rewrite(text)
}

package rooflut

/*
#include <rooflut.h>

// Go memory that C reads must not contain pointers to Go memory: structs with pointers are made here.
static uint32_t model_read(const char *name, size_t name_length, const char *config, size_t config_length,
                           const char *quant, size_t quant_length, const char *generation, size_t generation_length,
                           uint32_t assume_llama, uint64_t *model, RooflutError *error) {
  RooflutConfigFiles files = {
      .name = name, .name_length = name_length, .config = config, .config_length = config_length,
      .hf_quant_config = quant, .hf_quant_config_length = quant_length,
      .generation_config = generation, .generation_config_length = generation_length, .assume_llama = assume_llama,
  };
  return rooflut_model_read(&files, model, error);
}
*/
import "C"

// Model is a model by its dimensions.
type Model struct{ handle handle }

// FindModel returns a built-in model by its name or Hugging Face id.
func FindModel(name string) (*Model, error) {
	return model(made(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		data, length := chars(name)
		return C.rooflut_model_find(data, length, out, e)
	}))
}

// ConfigFiles are the files of a model as Hugging Face has them.
type ConfigFiles struct {
	Name             string // Name of the model in reports and messages.
	Config           string // Text of config.json.
	HFQuantConfig    string // Text of hf_quant_config.json; empty if there is none.
	GenerationConfig string // Text of generation_config.json; empty if there is none.
	AssumeLlama      bool   // Whether a file of any type is read as a Llama's.
}

// ReadModel reads a model from the texts of its files.
func ReadModel(files ConfigFiles) (*Model, error) {
	return model(made(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		name, nameLength := chars(files.Name)
		config, configLength := chars(files.Config)
		quant, quantLength := chars(files.HFQuantConfig)
		if quantLength == 0 {
			quant = nil
		}
		generation, generationLength := chars(files.GenerationConfig)
		if generationLength == 0 {
			generation = nil
		}
		var assume C.uint32_t
		if files.AssumeLlama {
			assume = 1
		}
		return C.model_read(name, nameLength, config, configLength, quant, quantLength, generation, generationLength,
			assume, out, e)
	}))
}

// ModelNames returns the names of the built-in models.
func ModelNames() ([]string, error) {
	return names(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t { return C.rooflut_model_names(out, e) })
}

// Describe returns the dimensions of the model as JSON.
func (m *Model) Describe() (string, error) {
	return text(func(out *C.uint64_t, e *C.RooflutError) C.uint32_t {
		return C.rooflut_model_describe(C.uint64_t(m.handle), out, e)
	})
}

// Close frees the model. Scenarios that were made with it stay.
func (m *Model) Close() error { return m.handle.free() }

func model(made handle, err error) (*Model, error) {
	if err != nil {
		return nil, err
	}
	return &Model{made}, nil
}

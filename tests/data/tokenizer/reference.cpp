// Prints the ids that llama.cpp gives to texts, special tokens off. Reads (uint32 length, bytes) records from stdin.
//
//   c++ -std=c++17 -I llama.cpp/include -I llama.cpp/ggml/include reference.cpp -o reference -L <build> -lllama -lggml

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "llama.h"

int main(int num_arguments, char** arguments) {
    if (num_arguments != 2) return 2;
    llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
    llama_model_params params = llama_model_default_params();
    params.vocab_only = true;
    llama_model* model = llama_model_load_from_file(arguments[1], params);
    if (model == nullptr) return 1;
    const llama_vocab* vocab = llama_model_get_vocab(model);
    std::uint32_t size = 0;
    while (std::fread(&size, sizeof size, 1, stdin) == 1) {
        std::string text(size, '\0');
        if (std::fread(text.data(), 1, size, stdin) != size) return 1;
        std::vector<llama_token> ids(size + 8);
        const int count = llama_tokenize(vocab, text.data(), static_cast<int>(size), ids.data(),
                                         static_cast<int>(ids.size()), false, false);
        for (int index = 0; index < count; ++index) std::printf("%d ", ids[index]);
        std::printf("\n");
    }
    llama_model_free(model);
}

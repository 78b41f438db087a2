"""Holds the official Python SDKs against the model server of the tests.

Reads the server's first lines from its standard output, `API: --model ROUTE --base-url URL`. Each
SDK asks twice, in a stream: the first answer thinks, says something and calls a tool, the second
follows the result of the call. What the SDK has read must be what the server was told to say, and the
server must find nothing wrong with what it was asked.
"""

import json
import subprocess
import sys

import anthropic
import openai
from google import genai
from google.genai import types

TEXT, THOUGHT, TOOL = "Grüße from the server.", "Let me look.", "look"
QUESTION = "What is there? Look."
RESULT = "nothing but a file"
# What each answer of the server says that it used: read, of which from a cache, and written.
PROMPT, CACHED, WRITTEN = 1000, 200, 30
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "additionalProperties": False,
}


def same(what, found, expected):
    if found != expected:
        raise SystemExit(f"{what}: {found!r} instead of {expected!r}")


def anthropic_messages(url, model):
    client = anthropic.Anthropic(base_url=url, api_key="sk-test", max_retries=0)
    tools = [{"name": TOOL, "description": "Looks.", "input_schema": SCHEMA}]
    messages = [{"role": "user", "content": f"[[anthropic]] {QUESTION}"}]

    def ask():
        streamed = ""
        with client.messages.stream(
            model=model, max_tokens=4096, system="Be brief.", messages=messages, tools=tools
        ) as stream:
            for event in stream:
                if event.type == "text":
                    streamed += event.text
            message = stream.get_final_message()
        same("anthropic text", streamed, TEXT)
        same("anthropic usage", message.usage.input_tokens, PROMPT - CACHED)
        same("anthropic cache", message.usage.cache_read_input_tokens, CACHED)
        same("anthropic output", message.usage.output_tokens, WRITTEN)
        return message

    message = ask()
    same("anthropic stop", message.stop_reason, "tool_use")
    blocks = {block.type: block for block in message.content}
    same("anthropic thinking", blocks["thinking"].thinking, THOUGHT)
    call = blocks["tool_use"]
    same("anthropic call", (call.name, call.input), (TOOL, {}))
    messages.append({"role": "assistant", "content": message.content})
    result = {"type": "tool_result", "tool_use_id": call.id, "content": RESULT}
    messages.append({"role": "user", "content": [result]})
    same("anthropic stop", ask().stop_reason, "end_turn")


def openai_completions(url, model):
    client = openai.OpenAI(base_url=url, api_key="sk-test", max_retries=0)
    function = {"name": TOOL, "description": "Looks.", "parameters": SCHEMA}
    tools = [{"type": "function", "function": function}]
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": f"[[completions]] {QUESTION}"},
    ]

    def ask():
        text, calls, reason, usage = "", {}, None, None
        with client.chat.completions.create(
            model=model,
            messages=messages,
            tools=tools,
            stream=True,
            stream_options={"include_usage": True},
        ) as stream:
            for chunk in stream:
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    reason = choice.finish_reason or reason
                    text += choice.delta.content or ""
                    for part in choice.delta.tool_calls or []:
                        call = calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
                        call["id"] += part.id or ""
                        call["name"] += part.function.name or ""
                        call["arguments"] += part.function.arguments or ""
        same("completions text", text, TEXT)
        same("completions usage", usage.prompt_tokens, PROMPT)
        same("completions cache", usage.prompt_tokens_details.cached_tokens, CACHED)
        same("completions output", usage.completion_tokens, WRITTEN)
        return list(calls.values()), reason

    calls, reason = ask()
    same("completions stop", reason, "tool_calls")
    found = [(call["name"], json.loads(call["arguments"])) for call in calls]
    same("completions call", found, [(TOOL, {})])
    call = calls[0]
    function = {"name": call["name"], "arguments": call["arguments"]}
    told = [{"id": call["id"], "type": "function", "function": function}]
    messages.append({"role": "assistant", "content": TEXT, "tool_calls": told})
    messages.append({"role": "tool", "tool_call_id": call["id"], "content": RESULT})
    same("completions end", ask(), ([], "stop"))


def openai_responses(url, model):
    client = openai.OpenAI(base_url=url, api_key="sk-test", max_retries=0)
    tools = [
        {
            "type": "function",
            "name": TOOL,
            "description": "Looks.",
            "parameters": SCHEMA,
            "strict": False,
        }
    ]
    items = [{"role": "user", "content": f"[[responses]] {QUESTION}"}]

    def ask():
        streamed = ""
        with client.responses.stream(
            model=model,
            instructions="Be brief.",
            input=items,
            tools=tools,
            store=False,
            include=["reasoning.encrypted_content"],
        ) as stream:
            for event in stream:
                if event.type == "response.output_text.delta":
                    streamed += event.delta
            response = stream.get_final_response()
        same("responses text", (streamed, response.output_text), (TEXT, TEXT))
        same("responses status", response.status, "completed")
        same("responses usage", response.usage.input_tokens, PROMPT)
        same("responses cache", response.usage.input_tokens_details.cached_tokens, CACHED)
        same("responses output", response.usage.output_tokens, WRITTEN)
        return response

    response = ask()
    thoughts = [item for item in response.output if item.type == "reasoning"]
    same("responses thinking", thoughts[0].summary[0].text, THOUGHT)
    calls = [item for item in response.output if item.type == "function_call"]
    same("responses call", [(it.name, json.loads(it.arguments)) for it in calls], [(TOOL, {})])
    unset = {"parsed", "parsed_arguments"}
    items += [it.model_dump(exclude=unset, exclude_none=True) for it in response.output]
    for item in items:
        for part in item.get("content") or [] if item.get("type") == "message" else []:
            part.pop("parsed", None)
    items.append({"type": "function_call_output", "call_id": calls[0].call_id, "output": RESULT})
    again = ask()
    same("responses end", [it for it in again.output if it.type == "function_call"], [])


def google(url, model):
    options = types.HttpOptions(base_url=url, api_version="v1beta")
    client = genai.Client(api_key="test", http_options=options)
    function = types.FunctionDeclaration(
        name=TOOL, description="Looks.", parameters_json_schema=SCHEMA
    )
    config = types.GenerateContentConfig(
        system_instruction="Be brief.",
        tools=[types.Tool(function_declarations=[function])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        thinking_config=types.ThinkingConfig(include_thoughts=True),
    )
    contents = [types.Content(role="user", parts=[types.Part(text=f"[[google]] {QUESTION}")])]

    def ask():
        parts, usage, reason = [], None, None
        for chunk in client.models.generate_content_stream(
            model=model, contents=contents, config=config
        ):
            usage = chunk.usage_metadata or usage
            for candidate in chunk.candidates or []:
                reason = candidate.finish_reason or reason
                found = candidate.content.parts or [] if candidate.content else []
                parts += [it for it in found if it.text != "" or it.thought_signature]
        text = "".join(part.text for part in parts if part.text and not part.thought)
        same("google text", text, TEXT)
        same("google stop", reason, types.FinishReason.STOP)
        same("google usage", usage.prompt_token_count, PROMPT)
        same("google cache", usage.cached_content_token_count, CACHED)
        written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        same("google output", written, WRITTEN)
        return parts

    parts = ask()
    same("google thinking", "".join(it.text for it in parts if it.thought and it.text), THOUGHT)
    calls = [part.function_call for part in parts if part.function_call]
    same("google call", [(call.name, call.args or {}) for call in calls], [(TOOL, {})])
    contents.append(types.Content(role="model", parts=parts))
    answer = types.FunctionResponse(id=calls[0].id, name=TOOL, response={"output": RESULT})
    contents.append(types.Content(role="user", parts=[types.Part(function_response=answer)]))
    same("google end", [part for part in ask() if part.function_call], [])


CLIENTS = {
    "anthropic-messages": anthropic_messages,
    "openai-completions": openai_completions,
    "openai-responses": openai_responses,
    "google-generative-ai": google,
}


def main(server):
    words = [server, "--text", TEXT, "--think", THOUGHT, "--call", TOOL]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        try:
            for _api in CLIENTS:
                api, _, words = process.stdout.readline().partition(": ")
                _, route, _, url = words.split()
                CLIENTS[api](url, route.partition("/")[2])
                print(f"{api}: its SDK reads what the server says, and is accepted")
        finally:
            process.stdin.close()
            print(process.stdout.read().strip())
            code = process.wait()
        if code != 0:
            raise SystemExit("the server found faults in what the SDKs have asked")


main(sys.argv[1])
